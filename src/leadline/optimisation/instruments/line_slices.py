"""A loss along the line through two parameter vectors: its barrier above the chord, and its curvature."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree


class LineSlice(NamedTuple):
    """φ(t) = l(w + t(w′ − w)) and φ″(t) on a grid; the barrier is the largest φ(t) − (1−t)φ(0) − tφ(1), 0 < t < 1.

    For convex l the barrier is at most 0. One line without a barrier proves nothing about l.
    """

    t: Float[np.ndarray, " points"]
    values: Float[np.ndarray, " points"]
    curvature: Float[np.ndarray, " points"]
    chord: Float[np.ndarray, " points"]
    barrier: float
    location: float


def slice_loss(
    loss: Callable[..., Any],
    first: PyTree,
    second: PyTree,
    *arrays: PyTree,
    points: int = 51,
    low: float = 0.0,
    high: float = 1.0,
) -> LineSlice:
    """The restriction of loss(w, *arrays) to the line through two vectors or pytrees, for t from `low` to `high`.

    >>> double_well = lambda w: jnp.sum((w**2 - 1) ** 2)
    >>> found = slice_loss(double_well, jnp.array([-1.0]), jnp.array([1.0]), points=5, low=-0.5, high=1.5)
    >>> found.barrier, found.location, found.curvature.tolist()
    (1.0, 0.5, [176.0, 32.0, -16.0, 32.0, 176.0])
    """
    t = np.linspace(low, high, points)
    inside = (t > 0) & (t < 1)
    if not inside.any():
        raise ValueError(
            f"slice_loss has no t strictly between 0 and 1 on [{low:g}, {high:g}]; widen it or add points."
        )
    first, second = (jax.tree.map(lambda a: jnp.asarray(a) if eqx.is_array(a) else a, w) for w in (first, second))
    places = np.append([0.0, 1.0], t)
    values, curvature = (np.asarray(part) for part in _along(loss, first, second, arrays, jnp.asarray(places, float)))
    if not np.isfinite(values).all():
        bad = places[int(np.argmin(np.isfinite(values)))]
        raise ValueError(f"The loss is {values[~np.isfinite(values)][0]} at t = {bad:.4g} of the line; shorten it.")
    chord = values[0] + t * (values[1] - values[0])
    excess = np.where(inside, values[2:] - chord, -np.inf)
    top = int(np.argmax(excess))
    return LineSlice(t, values[2:], curvature[2:], chord, float(excess[top]), float(t[top]))


@eqx.filter_jit
def _along(loss, first, second, arrays, t) -> tuple[Array, Array]:
    def restriction(s: Array) -> Array:
        between = jax.tree.map(lambda a, b: a + s * (b - a) if eqx.is_inexact_array(a) else a, first, second)
        return loss(between, *arrays)

    def slope(s: Array) -> tuple[Array, Array]:
        value, rate = jax.jvp(restriction, (s,), (jnp.ones_like(s),))
        return rate, value

    def second_order(s: Array) -> tuple[Array, Array]:
        _, bend, value = jax.jvp(slope, (s,), (jnp.ones_like(s),), has_aux=True)
        return value, bend

    return jax.vmap(second_order)(t)
