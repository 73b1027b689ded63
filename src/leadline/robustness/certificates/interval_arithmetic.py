"""Intervals of arrays: outward rounding, centre and radius, bounds of bilinear maps.

Every bound is rounded outward: elementwise results by a few units in the last place, sums and products of n terms by
the a-priori bound 2(n + 4) u Σ|aᵢ||bᵢ| of floating-point summation in any order (Higham 2002, section 3.1). So bounds
hold for the function in real arithmetic and, in whatever order it adds, for the one the machine computes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

Known = Any  # an array without uncertainty
Bind = Callable[..., Any]  # a step of a program, on arrays


class Interval(NamedTuple):
    """Elementwise bounds low ≤ value ≤ high; truth values are bounded by False < True."""

    low: Any
    high: Any


def low_of(value: Interval | Known) -> Any:
    return value.low if isinstance(value, Interval) else value


def high_of(value: Interval | Known) -> Any:
    return value.high if isinstance(value, Interval) else value


def magnitude(value: Interval | Known) -> Any:
    """max |value|."""
    return jnp.maximum(jnp.abs(low_of(value)), jnp.abs(high_of(value)))


def both(low: Any, high: Any) -> Any:
    """Intervals of a step with one or several results."""
    if isinstance(low, list | tuple):
        return [Interval(a, b) for a, b in zip(low, high, strict=True)]
    return Interval(low, high)


def outward(bounds: Interval, limits: tuple[float, float] | None = None, ulps: int = 4) -> Interval:
    """Bounds moved apart by a few units in the last place, within what the function can reach at all."""
    low, high = bounds
    if not jnp.issubdtype(jnp.result_type(low), jnp.floating):
        return bounds
    facts = jnp.finfo(jnp.result_type(low))
    low = low - (ulps * facts.eps * jnp.abs(low) + facts.tiny)
    high = high + (ulps * facts.eps * jnp.abs(high) + facts.tiny)
    low, high = jnp.where(jnp.isnan(low), -jnp.inf, low), jnp.where(jnp.isnan(high), jnp.inf, high)
    return (
        Interval(low, high) if limits is None else Interval(jnp.maximum(low, limits[0]), jnp.minimum(high, limits[1]))
    )


def widened(bounds: Interval, sizes: Any, terms: int) -> Interval:
    """Bounds of sums of `terms` numbers, `sizes` the sums of their magnitudes."""
    if not jnp.issubdtype(jnp.result_type(sizes), jnp.floating):
        return bounds
    slack = sizes * growth(terms, sizes)
    return outward(Interval(bounds.low - slack, bounds.high + slack))


def growth(terms: int, like: Any) -> float:
    """2(n + 4)u: the relative error of a sum of n products, twice (that of the bound and that of the function)."""
    return 2.0 * (terms + 4) * float(jnp.finfo(jnp.result_type(like)).eps)


def centre_radius(value: Interval | Known) -> tuple[Any, Any]:
    """The middle of an interval and a radius that reaches both ends."""
    if not isinstance(value, Interval):
        return value, None
    centre = 0.5 * value.low + 0.5 * value.high
    return centre, jnp.maximum(value.high - centre, centre - value.low)


def bilinear(bind: Bind, a: Interval | Known, b: Interval | Known, terms: int) -> Interval:
    """Bounds of a bilinear map: centre a·b; radius |a| r_b + r_a |b| + r_a r_b, of which one term if one is certain."""
    (ca, ra), (cb, rb) = centre_radius(a), centre_radius(b)
    centre = bind(ca, cb)
    share = growth(terms, centre)
    if rb is None:
        radius = bind(ra + share * (ra + jnp.abs(ca)), jnp.abs(cb))
    elif ra is None:
        radius = bind(jnp.abs(ca), rb + share * (rb + jnp.abs(cb)))
    else:
        reach = jnp.abs(cb) + rb
        radius = bind(jnp.abs(ca), rb + share * reach) + bind(ra, reach * (1 + share))
    return outward(Interval(centre - radius, centre + radius))
