"""Steepest descent with exact line search on a quadratic, and the factor that it cannot beat in the worst case."""

import numpy as np
from jaxtyping import Float

from leadline._checks import require_counts, require_numbers


def steepest_path(
    matrix: Float[np.ndarray, "p p"], start: Float[np.ndarray, "*batch p"], num_steps: int
) -> Float[np.ndarray, "points *batch p"]:
    """w⁰ … w^T on ½wᵀAw with the exact step η = g·g/gᵀAg along −g; it stays at 0 once it is there.

    >>> steepest_path(np.diag([1.0, 2.0]), np.array([2.0, 1.0]), 1)[1].round(9).tolist()
    [0.666666667, -0.333333333]
    """
    require_numbers("steepest_path", matrix=matrix, start=start)
    require_counts("steepest_path", least=0, num_steps=num_steps)
    matrix, start = np.asarray(matrix, float), np.asarray(start, float)
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ValueError("steepest_path needs a positive definite matrix; this one has an eigenvalue at or below 0.")
    points = np.empty((num_steps + 1, *start.shape))
    points[0] = start
    for t in range(num_steps):
        g = points[t] @ matrix
        square, bend = np.sum(g * g, -1, keepdims=True), np.sum(g * (g @ matrix), -1, keepdims=True)
        points[t + 1] = points[t] - np.where(bend > 0, square / np.where(bend > 0, bend, 1.0), 0.0) * g
    return points


def kantorovich_factor(condition: float) -> float:
    """((κ − 1)/(κ + 1))²: exact line search multiplies the gap by at most this at each step (Kantorovich 1948).

    >>> round(kantorovich_factor(2.0), 9)  # 1/9
    0.111111111
    """
    if condition < 1:
        raise ValueError(f"kantorovich_factor got condition {condition:g}; a condition number is at least 1.")
    return ((condition - 1) / (condition + 1)) ** 2
