"""Descent from many starts at once, each until its gradient is small: which minima are there?"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class RestPoints(NamedTuple):
    """Where each start ended: the point, the loss, the size of the last step over η (‖g‖ without l₁), the steps."""

    points: Float[Array, "starts p"]
    values: Float[Array, " starts"]
    residuals: Float[Array, " starts"]
    steps: Int[Array, " starts"]


def settle(
    function: Callable[[Array], Array],
    starts: Float[Array | np.ndarray, "starts p"],
    step_size: float,
    *,
    l1: float = 0.0,
    tolerance: float = 1e-8,
    max_steps: int = 100_000,
) -> RestPoints:
    """Gradient descent on l + λ‖·‖₁ from each start until ‖w − prox(w − ηg)‖/η ≤ `tolerance`, or for `max_steps` steps.

    The proximal step shrinks each coordinate by ηλ towards 0; with λ = 0 it is plain gradient descent.

    >>> run = settle(lambda w: w @ w / 2 - 3 * w[0] - 0.5 * w[1], jnp.ones((1, 2)), 0.5, l1=1.0)
    >>> run.points.round(6).tolist()
    [[2.0, 0.0]]
    """
    if not step_size > 0 or l1 < 0:
        raise ValueError(f"settle got step {step_size:g} and l1 {l1:g}; give a positive step and l1 ≥ 0.")
    starts = jnp.asarray(starts, float)
    numbers = (jnp.asarray(number, float) for number in (step_size, l1, tolerance))
    run = _settle(function, starts, *numbers, max_steps=jnp.asarray(max_steps))
    values = np.asarray(run.values)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(
            f"The loss became {values[bad]} from start {bad} within {int(run.steps[bad])} steps; lower the step."
        )
    return run


@eqx.filter_jit
def _settle(function, starts, step, l1, tolerance, max_steps) -> RestPoints:
    def move(w: Array) -> Array:
        ahead = w - step * jax.grad(function)(w)
        return jnp.sign(ahead) * jnp.maximum(jnp.abs(ahead) - step * l1, 0.0)

    def restless(state):
        _, residual, t = state
        return (residual > tolerance) & (t < max_steps)

    def advance(state):
        w, _, t = state
        after = move(w)
        return after, jnp.linalg.norm(after - w) / step, t + 1

    def run(start: Array) -> RestPoints:
        begin = (start, jnp.asarray(jnp.inf, start.dtype), jnp.asarray(0))
        w, residual, t = jax.lax.while_loop(restless, advance, begin)
        return RestPoints(w, function(w) + l1 * jnp.sum(jnp.abs(w)), residual, t)

    return jax.vmap(run)(starts)
