"""Is an optimiser first-order in Nesterov's sense: does wᵗ − w⁰ lie in the span of the gradients it asked for?"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Float

from leadline._checks import require_numbers
from leadline.training import apply_rule

from ..runs.descent import Function, evaluation_point

_SAME_DIRECTION = 1e-13


class SpanTest(NamedTuple):
    """For t = 1, 2, …: the part of wᵗ − w⁰ outside span{g₀ … g_{t−1}}, relative to its length; and the points."""

    residuals: Float[np.ndarray, " steps"]
    points: Float[np.ndarray, "points p"]
    gradients: Float[np.ndarray, "steps p"]

    @property
    def first_order(self) -> bool:
        """No step has left the span (by more than 10⁻⁸)."""
        return bool(np.max(self.residuals) < 1e-8)


def span_residuals(
    points: Float[np.ndarray, "points p"], gradients: Float[np.ndarray, "asked p"], *, ahead: int = 0
) -> Float[np.ndarray, " steps"]:
    """‖(I − P_t)(wᵗ − w⁰)‖/‖wᵗ − w⁰‖ for t = 1, 2, …, P_t onto span{g₀ … g_{t−1+ahead}}; 0 where nothing moved.

    `ahead` must be 0 for a test: with 1 the gradient at wᵗ itself may explain wᵗ.

    >>> span_residuals(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[1.0, 0.0]])).tolist()
    [0.8]
    """
    points, gradients = np.asarray(points, float), np.asarray(gradients, float)
    if points.ndim != 2 or gradients.ndim != 2 or points.shape[1] != gradients.shape[1]:
        raise ValueError(f"points {points.shape} and gradients {gradients.shape}: give rows of one length p.")
    if len(gradients) < len(points) - 1 + ahead:
        raise ValueError(
            f"{len(points) - 1} steps need {len(points) - 1 + ahead} gradients; there are {len(gradients)}."
        )
    residuals = []
    for t in range(1, len(points)):
        moved = points[t] - points[0]
        lengths = np.linalg.norm(gradients[: t + ahead], axis=1)
        told = gradients[: t + ahead][lengths > 1e-14 * max(lengths.max(), 1e-300)]
        basis, sizes, _ = np.linalg.svd((told / np.linalg.norm(told, axis=1)[:, None]).T, full_matrices=False)
        basis = basis[:, sizes > _SAME_DIRECTION * sizes[:1].max(initial=1.0)]
        outside = moved - basis @ (basis.T @ moved)
        size = np.linalg.norm(moved)
        residuals.append(np.linalg.norm(outside) / size if size > 0 else 0.0)
    return np.array(residuals)


@eqx.filter_jit
def _asked(objective: Function, optimiser: optax.GradientTransformation, start: Array, num_steps: int):
    def move(state, _):
        parameters, memory = state
        value, gradient = jax.value_and_grad(objective)(parameters)
        parameters, memory = apply_rule(optimiser, memory, parameters, value, gradient, objective)
        return (parameters, memory), (evaluation_point(memory, parameters), gradient)

    return jax.lax.scan(move, (start, optimiser.init(start)), None, length=num_steps)[1]


def check_span(
    objective: Function, optimiser: optax.GradientTransformation, start: Float[Array, " p"], num_steps: int
) -> SpanTest:
    """Run any Optax rule for t < p steps and test each point (Nesterov 2004, assumption 2.1.4).

    With `num_steps` ≥ p every rule passes: p gradients span everything. Take an objective without symmetry, such as a
    rotated quadratic: on a diagonal one a diagonal preconditioner may hide.

    >>> import jax.numpy as jnp
    >>> from leadline.optimisation import Quadratic, tunable
    >>> bowl = Quadratic(jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 0.0]))
    >>> rules = [tunable(optax.sgd, learning_rate=0.1), tunable(optax.adam, learning_rate=0.1)]
    >>> [check_span(bowl, rule, jnp.ones(2), 1).first_order for rule in rules]
    [True, False]
    """
    require_numbers("check_span", start=start)
    if not 1 <= num_steps < len(start):
        raise ValueError(f"check_span of {num_steps} steps in {len(start)} dimensions; give 1 ≤ steps < p.")
    points, gradients = (np.asarray(part) for part in _asked(objective, optimiser, start, num_steps))
    points = np.concatenate([np.asarray(start)[None], points])
    return SpanTest(span_residuals(points, gradients), points, gradients)
