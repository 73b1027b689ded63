"""Choosing variables for least squares: one by one forward, one by one backward, or by trying every subset."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Real

from leadline._checks import require_numbers

from .linear import sample

Inputs = Real[Array | np.ndarray, "n d"]
Targets = Real[Array | np.ndarray, " n"]


class SubsetPath(NamedTuple):
    """The chosen subset and its residual sum of squares for each size 0, 1, …, d."""

    chosen: Bool[np.ndarray, "sizes d"]
    residual: Float[np.ndarray, " sizes"]


def forward_selection(x: Inputs, y: Targets) -> SubsetPath:
    """From no variable, add at each step the one that lowers the residual sum most, and refit (with an intercept).

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> path = forward_selection(x, x @ np.array([1.0, 2.0]))
    >>> path.chosen.astype(int).tolist(), path.residual.round(9).tolist()
    ([[0, 0], [0, 1], [1, 1]], [20.0, 4.0, 0.0])
    """
    require_numbers("forward_selection", x=x, y=y)
    factor = _reduce(x, y)
    d = factor.triangle.shape[1]
    chosen, subset = [np.zeros(d, bool)], []
    for _ in range(d):
        rest = [j for j in range(d) if j not in subset]
        subset.append(rest[int(np.argmin(_residuals(factor, [[*subset, j] for j in rest])))])
        chosen.append(np.isin(np.arange(d), subset))
    return _path(factor, chosen)


def backward_selection(x: Inputs, y: Targets) -> SubsetPath:
    """From all d < n variables, drop at each step the one that raises the residual sum least, and refit."""
    factor = _reduce(x, y)
    d = factor.triangle.shape[1]
    if len(y) <= d:
        raise ValueError(f"backward_selection got {len(y)} examples of {d} variables; it needs more examples.")
    subset = list(range(d))
    chosen = [np.ones(d, bool)]
    while subset:
        smaller = [[k for k in subset if k != j] for j in subset]
        subset = smaller[int(np.argmin(_residuals(factor, smaller)))]
        chosen.append(np.isin(np.arange(d), subset))
    return _path(factor, chosen[::-1])


def best_subsets(x: Inputs, y: Targets) -> SubsetPath:
    """The subset of least residual sum for every size, by trying all 2ᵈ (d up to 15)."""
    factor = _reduce(x, y)
    d = factor.triangle.shape[1]
    if d > 15:
        raise ValueError(f"best_subsets got {d} variables, 2^{d} subsets; give at most 15 or use forward_selection.")
    chosen = []
    for size in range(d + 1):
        subsets = [list(c) for c in combinations(range(d), size)]
        best = subsets[int(np.argmin(_residuals(factor, subsets)))]
        chosen.append(np.isin(np.arange(d), best))
    return _path(factor, chosen)


class _Reduced(NamedTuple):
    """X = Q·triangle after centring: ‖y − X w‖² = ‖target − triangle·w‖² + rest."""

    triangle: np.ndarray
    target: np.ndarray
    rest: float


def _reduce(x: Inputs, y: Targets) -> _Reduced:
    _, x, y = sample(np.asarray(x), np.asarray(y))
    x, y = x - x.mean(axis=0), y - y.mean()
    q, triangle = np.linalg.qr(x)
    target = q.T @ y
    return _Reduced(triangle, target, float(np.sum((y - q @ target) ** 2)))


def _residuals(factor: _Reduced, subsets: list[list[int]]) -> np.ndarray:
    """The residual sum of squares of each subset; all have one size."""
    if not subsets[0]:
        return np.array([factor.target @ factor.target + factor.rest])
    columns = factor.triangle[:, np.array(subsets)].transpose(1, 0, 2)  # (subsets, rows, size)
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    kept = s > max(columns.shape[1:]) * np.finfo(s.dtype).eps * s[:, :1]
    along = np.where(kept, u.mT @ factor.target, 0.0)
    fitted = (u @ along[..., None])[..., 0]
    return np.sum((factor.target - fitted) ** 2, axis=1) + factor.rest


def _path(factor: _Reduced, chosen: list[np.ndarray]) -> SubsetPath:
    residual = [float(_residuals(factor, [np.flatnonzero(c).tolist()])[0]) for c in chosen]
    return SubsetPath(np.array(chosen), np.array(residual))
