"""Sharpness beside 2/step size while gradient descent runs: from progressive sharpening to the edge of stability."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ..objectives.any_loss import FlatLoss, flat_objective
from ..objectives.objective import Vector
from .hessian_spectra import hessian_at

_TOLERANCE = 1e-4


class SharpnessPath(NamedTuple):
    """λ_max of the Hessian at iterations `times` with the Lanczos residual, the loss at every step, the end."""

    times: Int[np.ndarray, " records"]
    sharpness: Float[np.ndarray, " records"]
    error: Float[np.ndarray, " records"]
    losses: Float[np.ndarray, " steps"]
    step: float
    parameters: PyTree

    @property
    def stability(self) -> Float[np.ndarray, " records"]:
        """η λ_max: below 2 small errors shrink, above 2 they grow along the sharpest direction."""
        return self.step * self.sharpness


@eqx.filter_jit
def _advance(objective: Callable, w: Vector, step: Array, num_steps: int) -> tuple[Vector, Array]:
    def move(w: Vector, _: None) -> tuple[Vector, Array]:
        value, gradient = jax.value_and_grad(objective)(w)
        return w - step * gradient, value

    return jax.lax.scan(move, w, None, length=num_steps)


def sharpness_path(
    loss: Callable, params: PyTree, *data: PyTree, step_size: float, num_steps: int, every: int = 100
) -> SharpnessPath:
    """Full-batch gradient descent on loss(params, *data) at `step_size`, its sharpness measured every so many steps.

    On networks with squared loss it tends to rise to 2/step and stay (Cohen, Kaur, Li, Kolter and Talwalkar 2021).

    >>> path = sharpness_path(lambda w: w @ w / 2, jnp.ones(2), step_size=0.5, num_steps=4, every=2)
    >>> path.times.tolist(), path.stability.tolist()
    ([0, 2, 4], [0.5, 0.5, 0.5])
    """
    if not step_size > 0 or every < 1 or num_steps < every:
        raise ValueError(
            f"sharpness_path got step {step_size}, {num_steps} steps, every {every}; all positive, every <= steps."
        )
    objective, w = flat_objective(loss, params, *data)
    found, losses = [hessian_at(objective, w).top(1, tolerance=_TOLERANCE)], []
    for k in range(num_steps // every):
        w, values = _advance(objective, w, jnp.asarray(step_size, w.dtype), every)
        if not np.isfinite(values[-1]):
            raise ValueError(
                f"The loss is not finite within {(k + 1) * every} steps of {step_size}: 2/sharpness was "
                f"{2 / found[0].values[0]:.3g} at the start; take a smaller step."
            )
        losses.append(np.asarray(values))
        found.append(hessian_at(objective, w).top(1, tolerance=_TOLERANCE, start=found[-1].vectors[0]))
    return SharpnessPath(
        every * np.arange(len(found)),
        np.concatenate([pair.values for pair in found]),
        np.concatenate([pair.residuals for pair in found]),
        np.concatenate(losses),
        float(step_size),
        objective.parameters(w) if isinstance(objective, FlatLoss) else w,
    )
