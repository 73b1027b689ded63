"""The two-step network of the notes, worked with adjoints on its graph; answers are checked term by term."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np


class TwoStep(NamedTuple):
    """h₁ = s(u x₁), h₂ = s(u x₂ + w h₁), ŷ_t = v h_t, loss (y₁ - ŷ₁)² + (y₂ - ŷ₂)²; the first term only if `both`."""

    u: float
    w: float
    v: float
    x: tuple[float, float]
    y: tuple[float, float]
    both: bool = True


def two_step_loss(
    problem: TwoStep, activation: Callable = jax.nn.sigmoid
) -> Callable[[tuple[Any, Any, Any]], jax.Array]:
    """The loss as a function of (u, w, v).

    >>> float(two_step_loss(TwoStep(0.0, 0.0, 2.0, (1.0, 1.0), (0.0, 3.0)))((0.0, 0.0, 2.0)))
    5.0
    """
    (x1, x2), (y1, y2) = problem.x, problem.y

    def loss(weights: tuple[Any, Any, Any]) -> jax.Array:
        u, w, v = weights
        h1 = activation(u * x1)
        h2 = activation(u * x2 + w * h1)
        return (y2 - v * h2) ** 2 + (float(problem.both)) * (y1 - v * h1) ** 2

    return loss


def two_step_adjoints(problem: TwoStep, activation: Callable = jax.nn.sigmoid) -> dict[str, float]:
    """All adjoints in the order in which they are computed; those of the weights last.

    e_t = -2(y_t - ŷ_t), a₂ = e₂ v s'₂, h̄₁ = e₁ v + a₂ w, a₁ = h̄₁ s'₁; v̄ = e₁h₁ + e₂h₂, w̄ = a₂ h₁, ū = a₁x₁ + a₂x₂.
    Without the loss at step 1, e₁ = 0.

    >>> {name: round(value, 3) for name, value in two_step_adjoints(TwoStep(0.0, 0.0, 2.0, (1, 1), (0, 3))).items()}
    {'e1': 2.0, 'e2': -4.0, 'a2': -2.0, 'h1': 4.0, 'a1': 1.0, 'v': -1.0, 'w': -1.0, 'u': -1.0}
    """
    u, w, v = problem.u, problem.w, problem.v
    (x1, x2), (y1, y2) = problem.x, problem.y
    slope = jax.grad(lambda z: activation(z))
    before1 = u * x1
    h1 = float(activation(float(before1)))
    before2 = u * x2 + w * h1
    h2 = float(activation(float(before2)))
    e1 = -2 * (y1 - v * h1) if problem.both else 0.0
    e2 = -2 * (y2 - v * h2)
    a2 = e2 * v * float(slope(float(before2)))
    h1_bar = e1 * v + a2 * w
    a1 = h1_bar * float(slope(float(before1)))
    return {
        "e1": e1,
        "e2": e2,
        "a2": a2,
        "h1": h1_bar,
        "a1": a1,
        "v": e1 * h1 + e2 * h2,
        "w": a2 * h1,
        "u": a1 * x1 + a2 * x2,
    }


def first_wrong_term(
    answer: Mapping[str, float], problem: TwoStep, activation: Callable = jax.nn.sigmoid, *, rtol: float = 1e-3
) -> str | None:
    """The first term of an answer, in the order of `two_step_adjoints`, that is wrong or missing; None if none is.

    >>> problem = TwoStep(0.0, 0.0, 2.0, (1, 1), (0, 3))
    >>> first_wrong_term(two_step_adjoints(problem) | {"a2": -1.0, "w": -0.5}, problem)
    'a2'
    """
    right = two_step_adjoints(problem, activation)
    strange = set(answer) - set(right)
    if strange:
        raise ValueError(f"There is no term {sorted(strange)[0]!r}; the terms are {', '.join(right)}.")
    scale = max(abs(value) for value in right.values())
    for name, value in right.items():
        if name not in answer or not np.isclose(answer[name], value, rtol=rtol, atol=rtol * scale * 1e-3):
            return name
    return None
