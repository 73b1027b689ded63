"""What to say when a loss is no longer finite: at which step, and the likely cause, measured."""

import math
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .descent import apply_rule
from .loop import Loop, State
from .objectives import Sample

if TYPE_CHECKING:
    from .fitting import Run


class Diverged(RuntimeError):
    """The loss is not finite. `step` and `epoch` count from 0; `run` holds the last finite state and its history."""

    def __init__(self, message: str, *, step: int, epoch: int, cause: str, run: "Run"):
        super().__init__(message)
        self.step, self.epoch, self.cause, self.run = step, epoch, cause, run


@eqx.filter_jit
def _measure(loop: Loop, state: State, batch: Sample) -> tuple[Float[Array, ""], ...]:
    """Gradient norm and the length of the optimiser's step, on one batch."""

    def loss(parameters: PyTree) -> Float[Array, ""]:
        return loop.objective(parameters, batch)[0]

    gradient = jax.grad(loss)(state.parameters)
    moved, _ = apply_rule(loop.optimiser, state.opt_state, state.parameters, loss(state.parameters), gradient, loss)
    length = optax.tree.norm(optax.tree.sub(moved, state.parameters))
    return optax.tree.norm(gradient), length


def _sharpness(loop: Loop, state: State, batch: Sample) -> float:
    """The Hessian eigenvalue of largest modulus on one batch; not a number where products are not finite."""
    from leadline.curvature import hessian

    operator = hessian(lambda parameters, rows: loop.objective(parameters, rows)[0], state.parameters, batch)
    if not jnp.isfinite(operator(jnp.ones(operator.size, operator.dtype))).all():
        return math.nan
    return float(operator.top(1, which="magnitude", tolerance=1e-3).values[0])


def likely_cause(loop: Loop, calm: State, train: Sample, key: PRNGKeyArray, num_steps: int) -> str:
    """Why the loss is not finite `num_steps` steps after the state `calm`, from measurements there and on the way."""
    per_epoch = len(train.inputs) // loop.batch
    epochs = jnp.arange(-(-max(num_steps, 1) // per_epoch)) + calm.epoch
    rows = jnp.concatenate([loop.rows(train, epoch, key) for epoch in epochs])
    first = Sample(train.inputs[rows[0]], train.targets[rows[0]])
    norm, length = (float(value) for value in _measure(loop, calm, first))
    if num_steps == 0:
        return (
            f"the loss is not finite before any step is made (gradient norm {norm:.3g}): the outputs overflow; "
            "scale the inputs or the first weights down"
        )
    curvature = _sharpness(loop, calm, first)
    _, measured = eqx.filter_jit(loop.steps)(calm, train, rows[:num_steps])
    weighed = measured.gradient_norm[~jnp.isnan(measured.gradient_norm)]
    last = float(weighed[-1]) if weighed.size else float("nan")
    rate = length / norm if norm > 0 else 0.0
    limit = 2 / rate if rate > 0 else float("inf")
    growth = f"the gradient norm went from {norm:.3g} to {last:.3g} within {num_steps} steps"
    if curvature > limit:
        factor = 1.5 * curvature * rate / 2
        advice = f"divide the step size by {factor:.2g} or more" if math.isfinite(factor) else "take a far smaller one"
        return (
            f"the steps are too long: the sharpness {curvature:.3g} is above 2/(step size) = {limit:.3g}, and "
            f"{growth}; {advice}"
        )
    if not last < 100 * norm:
        return (
            f"the gradients explode: {growth}, with sharpness {curvature:.3g} against 2/(step size) = {limit:.3g}; "
            "clip the gradient or take a smaller step size"
        )
    return (
        f"the loss itself left the range of its numbers ({growth}, sharpness {curvature:.3g}); "
        "look for a logarithm of 0 or a division by 0 in the loss or the model"
    )
