"""The largest rise of a loss in a ball around the parameters, plain or relative to each weight, by search."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline._checks import require_numbers

from ..operators.hessian_operator import hessian
from ..operators.operator import split_parameters
from ..spectra.lanczos import top
from .sharpness_measures import ScaledHessian


class WorstCase(NamedTuple):
    """The largest rise found, a LOWER bound of the true maximum, and what Taylor's formula says beside it.

    `first_order` is ρ‖Tg‖_*, * the dual norm (l2, or l1 for linf), the maximum of the linear model (SAM's). In
    `second_order` ½ρ²λ⁺ is added, λ⁺ = max(λ_max(THT), 0) (times the number of parameters that move, for linf): an
    upper bound of the quadratic model's maximum, equal to it for l2 at critical points. T = 1 for the plain ball and
    diag|w| for the relative one. `step` is where the rise was found, `start` the loss at the parameters.
    """

    rise: float
    first_order: float
    second_order: float
    step: PyTree
    start: float


def ball_sharpness(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    radius: float,
    key: PRNGKeyArray,
    num_steps: int = 40,
    starts: int = 4,
) -> WorstCase:
    """max over ‖d‖₂ ≤ ρ of l(w + d) − l(w), by projected gradient ascent (Keskar et al. 2017; SAM, Foret et al. 2021).

    The search begins on the sphere along the gradient, along both signs of the Hessian's top eigenvector and at random
    places, takes `num_steps` normalised steps of falling length from each, and keeps the best point seen: what it
    returns is a lower bound of the maximum. Not invariant under rescaling of layers.

    >>> found = ball_sharpness(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.zeros(2), radius=0.1, key=jax.random.key(0))
    >>> round(found.rise, 6), round(found.second_order, 6)  # ½ λ_max ρ²
    (0.03, 0.03)
    """
    require_numbers("ball_sharpness", params=params, data=data)
    scale = np.ones_like(_flat(params))
    return _search(loss, params, data, scale, radius, "l2", key, num_steps, starts)


def adaptive_sharpness(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    radius: float,
    key: PRNGKeyArray,
    norm: str = "l2",
    num_steps: int = 40,
    starts: int = 4,
) -> WorstCase:
    """max of l(w + d) − l(w) over ‖(d_i/w_i)_i‖ ≤ ρ: the elementwise-relative worst case (ASAM, Kwon et al. 2021).

    `norm="l2"` is an ellipsoid with axes ρ|w_i|, "linf" the box |d_i| ≤ ρ|w_i|; weights that are 0 stay. In u = d/|w|
    it is a ball, searched as in `ball_sharpness`: a lower bound of the maximum. Rescaling units of a ReLU network maps
    the set for one network on that for the other, and so leaves the maximum the same.

    >>> loss = lambda w: w[0] ** 2 / 2  # at 2, by a tenth: (2.2² − 2²)/2
    >>> round(adaptive_sharpness(loss, jnp.array([2.0]), radius=0.1, key=jax.random.key(0)).rise, 6)
    0.42
    """
    if norm not in ("l2", "linf"):
        raise ValueError(f"norm is {norm!r}; give 'l2' or 'linf'.")
    scale = np.abs(_flat(params))
    if not np.any(scale > 0):
        raise ValueError("All parameters are 0, and relative to them nothing can move; use ball_sharpness.")
    return _search(loss, params, data, scale, radius, norm, key, num_steps, starts)


def _flat(params: PyTree) -> Float[np.ndarray, " p"]:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(split_parameters(params)[0])])


def _search(loss, params, data, scale, radius, norm, key, steps, starts) -> WorstCase:
    if not (radius > 0 and np.isfinite(radius)) or steps < 1 or starts < 1:
        raise ValueError(
            f"The search got radius {radius:g}, {steps} steps and {starts} starts; give a positive radius and at least "
            "one of each."
        )
    moved, fixed = split_parameters(params)
    held = jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, data)
    operator = ScaledHessian(hessian(loss, params, *data), jnp.asarray(scale))
    pair = top(operator, 1, tolerance=1e-3, max_steps=200)
    value, slope, rise, u = _ascend(
        loss,
        moved,
        fixed,
        held,
        operator.scale,
        np.asarray(radius, scale.dtype),
        jnp.asarray(pair.vectors[0]),
        key,
        norm,
        steps,
        starts,
    )
    first = float(radius) * float(np.linalg.norm(slope, ord=2 if norm == "l2" else 1))
    bend = max(float(pair.values[0]), 0.0) * (1 if norm == "l2" else int(np.sum(scale > 0)))
    step = operator.operator.unflat(scale * np.asarray(u))
    return WorstCase(float(rise), first, first + float(radius) ** 2 * bend / 2, step, float(value))


@eqx.filter_jit
def _ascend(loss, moved, fixed, data, scale, radius, vector, key, norm, steps, starts):
    """Value and slope at the parameters, the best rise and its u, by ascent from all starts at once."""
    flat, unravel = ravel_pytree(moved)

    def objective(u: Array) -> Array:
        return jnp.mean(loss(eqx.combine(unravel(flat + scale * u), fixed), *data))

    both = jax.value_and_grad(objective)
    value, slope = both(jnp.zeros_like(flat))

    def unit(v: Array) -> Array:
        """The direction of norm 1 in which a linear function v·u grows most."""
        if norm == "linf":
            return jnp.sign(v)
        length = jnp.linalg.norm(v)
        return v / jnp.where(length > 0, length, 1.0)

    def inside(u: Array) -> Array:
        if norm == "linf":
            return jnp.clip(u, -radius, radius)
        length = jnp.linalg.norm(u)
        return u * jnp.minimum(1.0, radius / jnp.where(length > 0, length, 1.0))

    drawn = jax.random.normal(key, (starts, scale.size), scale.dtype)
    firsts = radius * jax.vmap(unit)(jnp.concatenate([jnp.stack([slope, vector, -vector]), drawn]))
    lengths = radius * (1 - jnp.arange(steps, dtype=flat.dtype) / steps)

    def one(first: Array) -> tuple[Array, Array]:
        def step(state: tuple, length: Array) -> tuple:
            u, best, at = state
            here, gradient = both(u)
            better = here > best
            best, at = jnp.where(better, here, best), jnp.where(better, u, at)
            return (inside(u + length * unit(gradient)), best, at), None

        (u, best, at), _ = jax.lax.scan(step, (inside(first), value, jnp.zeros_like(flat)), lengths)
        here = objective(u)
        return jnp.where(here > best, here, best), jnp.where(here > best, u, at)

    tops, places = jax.lax.map(one, firsts)
    winner = jnp.argmax(jnp.where(jnp.isnan(tops), -jnp.inf, tops))
    return value, slope, tops[winner] - value, places[winner]
