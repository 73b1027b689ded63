"""Runs that bring out what an optimiser cannot do: step-size sweeps, hitting times, cycles.

An entrant is a function make(step) that gives an Optax rule; `step` may be traced, so sweeps are one compiled program.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from leadline._checks import require_numbers

from .descent import Function, descend, steps_to_reach

Make = Callable[[Float[Array, ""]], optax.GradientTransformation]


def step_sweep(
    objective: Function, make: Make, sizes: Float[Array, " k"], start: Float[Array, " p"], num_steps: int
) -> Float[Array, "k points"]:
    """l(wᵗ) for every step size: a row each.

    >>> import jax.numpy as jnp
    >>> step_sweep(lambda w: w @ w / 2, optax.sgd, jnp.array([0.5, 3.0]), jnp.array([1.0]), 1).tolist()
    [[0.5, 0.125], [0.5, 2.0]]
    """
    require_numbers("step_sweep", start=start)
    return _sweep(objective, make, sizes, start, num_steps)


@eqx.filter_jit
def _sweep(objective, make, sizes, start, num_steps):
    return jax.vmap(lambda size: descend(objective, make(size), start, num_steps).values)(sizes)


@eqx.filter_jit
def hitting_sweep(
    objective: Function,
    make: Make,
    sizes: Float[Array, " k"],
    start: Float[Array, " p"],
    goal: float | Array,
    max_steps: int,
) -> Int[Array, " k"]:
    """For every step size the first t with l(wᵗ) ≤ `goal`; `max_steps` + 1 where none of the first `max_steps` steps
    gets there.

    >>> import jax.numpy as jnp
    >>> hitting_sweep(lambda w: w @ w / 2, optax.sgd, jnp.array([0.5, 3.0]), jnp.array([1.0]), 0.01, 20).tolist()
    [3, 21]
    """
    return jax.vmap(lambda size: steps_to_reach(objective, make(size), start, goal, max_steps)[0])(sizes)


def largest_stable(sizes: Float[np.ndarray, " k"], values: Float[np.ndarray, "k t"], *, growth: float = 10.0) -> float:
    """The largest of the ascending `sizes` up to which no run ends above `growth` times its first gap to the least.

    0 if even the smallest step diverges.

    >>> largest_stable(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.5], [1.0, 1.0], [1.0, 99.0]]))
    2.0
    """
    values = np.asarray(values)
    least = np.nanmin(np.where(np.isfinite(values), values, np.inf))
    last, first = values[:, -1] - least, values[:, 0] - least
    broken = ~np.isfinite(last) | (last > growth * np.maximum(first, np.finfo(float).tiny))
    return 0.0 if broken[0] else float(sizes[-1] if not broken.any() else sizes[np.argmax(broken) - 1])


@eqx.filter_jit
def ends_from(
    objective: Function, rule: optax.GradientTransformation, starts: Float[Array, "n p"], num_steps: int, tail: int
) -> Float[Array, "n tail p"]:
    """The last `tail` points of a run from each start.

    >>> import jax.numpy as jnp
    >>> ends_from(lambda w: w @ w / 2, optax.sgd(1.0), jnp.array([[3.0], [4.0]]), 5, 1)[:, 0, 0].tolist()
    [0.0, 0.0]
    """
    return jax.vmap(lambda start: descend(objective, rule, start, num_steps).points[-tail:])(starts)


def best_size(sizes: Float[np.ndarray, " k"], ends: Float[np.ndarray, " k"]) -> int:
    """The index of the size with the least end value; non-finite ends never win.

    >>> best_size(np.array([0.1, 1.0, 9.0]), np.array([0.5, 0.1, np.nan]))
    1
    """
    ends = np.where(np.isfinite(ends), np.asarray(ends, float), np.inf)
    if np.all(np.isinf(ends)):
        raise ValueError(
            f"The optimiser diverged at every step size from {sizes[0]:.3g} to {sizes[-1]:.3g}; "
            "look at the sign of its update, or enter it with other settings."
        )
    return int(np.argmin(ends))


def outside(points: Float[np.ndarray, "n tail p"], *, radius: float) -> Bool[np.ndarray, " n"]:
    """Which runs have a point farther than `radius` from 0, or one that is not finite.

    >>> outside(np.array([[[0.0]], [[2.0]], [[np.nan]]]), radius=1.0).tolist()
    [False, True, True]
    """
    with np.errstate(over="ignore"):
        return ~np.all(np.linalg.norm(np.asarray(points), axis=-1) <= radius, axis=1)
