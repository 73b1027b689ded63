"""Labelled points in the unit ball with a linear margin known in advance."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import xlog1py
from jaxtyping import Array, Float, PRNGKeyArray


class SeparableSample(NamedTuple):
    """Points, labels in {-1, +1}, and a unit vector that separates them through the origin."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    direction: Float[Array, " d"]


def separable_ball(samples: int, dim: int, margin: float, *, key: PRNGKeyArray) -> SeparableSample:
    """Points uniform in the unit ball of Rᵈ given |u.x| ≥ margin, with y = sgn(u.x), u a uniform unit vector.

    So ‖x‖ ≤ 1 and y u.x ≥ margin hold for every point (up to rounding), and u certifies a
    homogeneous margin of at least `margin`; the largest margin of the drawn set may be larger.
    Drawn exactly and without wasted points: s = |u.x| has density proportional to
    (1 - s²)^((d-1)/2) on [margin, 1], and given s the rest of x is uniform in the ball of radius
    √(1 - s²) orthogonal to u. In high dimension s therefore concentrates at the margin.

    >>> sample = separable_ball(100, 5, 0.1, key=jax.random.key(0))
    >>> sample.x.shape, bool(jnp.all(sample.y * (sample.x @ sample.direction) > 0.0999))
    ((100, 5), True)
    """
    if samples < 1 or dim < 1:
        raise ValueError(f"separable_ball got samples={samples}, dim={dim}; both must be at least 1.")
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"separable_ball got margin={margin}; points of the unit ball need 0 <= margin < 1.")
    return _separable_ball(samples, dim, _cap_heights(samples, float(dim), margin, key), key)


@partial(jax.jit, static_argnums=(0, 1))
def _separable_ball(samples: int, dim: int, s: Float[Array, " n"], key: PRNGKeyArray) -> SeparableSample:
    key_direction, key_sign, _, key_rest, key_radius = jax.random.split(key, 5)
    u = jax.random.normal(key_direction, (dim,))
    u = u / jnp.linalg.norm(u)
    y = jax.random.rademacher(key_sign, (samples,), u.dtype)
    if dim == 1:
        return SeparableSample((y * s)[:, None] * u, y, u)
    rest = jax.random.normal(key_rest, (samples, dim))
    rest = rest - jnp.outer(rest @ u, u)
    radius = jnp.sqrt(1 - s**2) * jax.random.uniform(key_radius, (samples,)) ** (1 / (dim - 1))
    rest = rest * (radius / jnp.linalg.norm(rest, axis=1))[:, None]
    return SeparableSample(rest + (y * s)[:, None] * u, y, u)


@partial(jax.jit, static_argnums=0)  # compiled once for all dimensions: it takes most of the time
def _cap_heights(
    samples: int, dim: Float[Array, ""], margin: Float[Array, ""], key: PRNGKeyArray
) -> Float[Array, " n"]:
    """Exact draws of s with density ~ (1 - s²)^((d-1)/2) on [margin, 1], by rejection.

    Small caps (margin² d ≥ 1): with v = (1 - s²)/(1 - margin²), propose v = U^(2/(d+1)) and accept with
    probability margin/s. Large ones: propose |N(0, 1/d)| and accept in proportion to the density ratio, whose
    largest value is at s² = 1/d. Where the two meet, both accept a good part of the proposals.
    """
    key = jax.random.split(key, 5)[2]
    a = (dim - 1) / 2
    small_cap = margin**2 * dim >= 1

    def propose_cap(key):
        key_value, key_accept = jax.random.split(key)
        v = jax.random.uniform(key_value, (samples,)) ** (2 / (dim + 1))
        s = jnp.sqrt(1 - (1 - margin**2) * v)
        return s, jax.random.uniform(key_accept, (samples,)) * s < margin

    def propose_ball(key):
        key_value, key_accept = jax.random.split(key)
        s = jnp.abs(jax.random.normal(key_value, (samples,))) / jnp.sqrt(dim)
        log_ratio = xlog1py(a, -jnp.minimum(s**2, 1)) + dim * s**2 / 2
        log_largest = xlog1py(a, -1 / dim) + 1 / 2
        accepted = jnp.log(jax.random.uniform(key_accept, (samples,))) < log_ratio - log_largest
        return s, accepted & (s >= margin) & (s <= 1)

    def redraw(state):
        s, done, key = state
        key, subkey = jax.random.split(key)
        proposal, accepted = lax.cond(small_cap, propose_cap, propose_ball, subkey)
        return jnp.where(done, s, proposal), done | accepted, key

    start = (jnp.full(samples, 1.0), jnp.zeros(samples, bool), key)
    s, _, _ = lax.while_loop(lambda state: ~jnp.all(state[1]), redraw, start)
    return jnp.clip(s, margin, 1.0)
