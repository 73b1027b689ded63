"""Quantiles of samples and distributions, and linear quantile regression by linear programming."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Real

from leadline._checks import require, require_rows

from .linear import design, sample


def discrete_quantile(
    values: Real[Array | np.ndarray, " n"],
    tau: float | Real[Array | np.ndarray, "*t"],
    *,
    probabilities: Real[Array | np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "*t"]:
    """Q(τ) = inf{y : F(y) ≥ τ}, 0 < τ < 1, of a sample, or of values with these probabilities; always one of them.

    >>> discrete_quantile(np.array([3.0, 1.0, 2.0]), np.array([0.3, 0.5, 0.9])).tolist()
    [1.0, 2.0, 3.0]
    """
    require("discrete_quantile", axes=1, values=values)
    if probabilities is not None:
        require("discrete_quantile", axes=1, probabilities=probabilities)
        require_rows("discrete_quantile", values=values, probabilities=probabilities)
    tau = _levels(tau)
    order = np.argsort(np.asarray(values), kind="stable")
    y = np.asarray(values, float)[order]
    if probabilities is None:
        cumulative = np.arange(1, len(y) + 1) / len(y)
    else:
        p = np.asarray(probabilities, float)[order]
        if p.min() < 0 or abs(p.sum() - 1) > 1e-9:
            raise ValueError(f"Probabilities sum to {p.sum():.6g}; give non-negative ones that sum to 1.")
        y, p = y[p > 0], p[p > 0]
        cumulative = np.cumsum(p)
    # F is known up to rounding, and a level within rounding of a step belongs to it.
    first = np.searchsorted(cumulative, tau - len(y) * np.finfo(float).eps, side="left")
    return np.asarray(y[np.minimum(first, len(y) - 1)])


def invert_cdf(
    cdf: Callable[[np.ndarray], np.ndarray], tau: float | Real[Array | np.ndarray, "*t"]
) -> Float[np.ndarray, "*t"]:
    """Q(τ) = inf{y : F(y) ≥ τ} of any cdf by bisection to neighbouring numbers; F may jump or be flat.

    >>> invert_cdf(lambda y: np.clip(y, 0, 1), np.array([0.25, 0.5])).round(12).tolist()
    [0.25, 0.5]
    """
    tau = _levels(tau)
    low, high = -np.ones_like(tau), np.ones_like(tau)
    for _ in range(1000):
        too_high, too_low = cdf(low) >= tau, cdf(high) < tau
        if not (too_high.any() or too_low.any()):
            break
        low, high = np.where(too_high, 2 * low, low), np.where(too_low, 2 * high, high)
    else:
        raise ValueError("The cdf does not reach every level within 1e300; give one that runs from 0 to 1.")
    while True:  # F(low) < τ ≤ F(high)
        middle = low + (high - low) / 2
        if np.all((middle <= low) | (middle >= high)):
            return np.asarray(high)
        reached = cdf(middle) >= tau
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)


class QuantileFits(NamedTuple):
    """Linear fits f_τ(x) = w·x + b, one a level, with their mean pinball loss and the programme's optimal value."""

    levels: Float[np.ndarray, " k"]
    weights: Float[np.ndarray, "k d"]
    bias: Float[np.ndarray, " k"]
    loss: Float[np.ndarray, " k"]
    optimum: Float[np.ndarray, " k"]

    def predict(self, x: Real[Array | np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """f_τ at every row of x, one column a level."""
        return np.asarray(x) @ self.weights.T + self.bias


def quantile_regression(
    x: Real[Array | np.ndarray, "n d"],
    y: Real[Array | np.ndarray, " n"],
    levels: Real[Array | np.ndarray, " k"],
    *,
    non_crossing: bool = False,
) -> QuantileFits:
    """argmin over (w, b) of the mean pinball loss, for every level, as linear programmes.

    min Σ τuᵢ + (1 − τ)vᵢ with w·xᵢ + b + uᵢ − vᵢ = yᵢ, u, v ≥ 0. With `non_crossing` the increasing levels are fitted
    together under f_τ(xᵢ) ≤ f_τ′(xᵢ) for τ < τ′ at every example (Bondell, Reich and Wang 2010).

    >>> fits = quantile_regression(np.zeros((3, 1)), np.array([1.0, 2.0, 9.0]), np.array([0.5]))
    >>> fits.bias.round(9).tolist(), fits.loss.round(9).tolist()
    ([2.0], [1.333333333])
    """
    _, x, y = sample(np.asarray(x, float), np.asarray(y, float))
    levels = _levels(levels)
    if non_crossing and not np.all(np.diff(levels) > 0):
        raise ValueError(f"Levels {levels.tolist()} do not increase; sort them for non-crossing fits.")
    middle, unit = float(np.median(y)), float(np.ptp(y)) or 1.0
    spread = np.abs(x).max(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    matrix, target = np.asarray(design(x / spread)), np.asarray((y - middle) / unit)
    groups = [levels] if non_crossing else [levels[k : k + 1] for k in range(len(levels))]
    solved = [_programme(matrix, target, group) for group in groups]
    solutions, optimum = (np.concatenate(parts) for parts in zip(*solved, strict=True))
    weights, bias = solutions[:, :-1] * unit / spread, solutions[:, -1] * unit + middle
    residual = y[:, None] - x @ weights.T - bias
    return QuantileFits(levels, weights, bias, np.mean(residual * (levels - (residual < 0)), axis=0), optimum * unit)


def crossings(predictions: Real[np.ndarray, "n k"]) -> Bool[np.ndarray, " n"]:
    """Whether the predicted quantiles of a row, in columns of increasing level, are out of order.

    >>> crossings(np.array([[1.0, 2.0], [2.0, 1.0]])).tolist()
    [False, True]
    """
    size = np.abs(predictions).max(initial=0.0)
    return np.any(np.diff(predictions, axis=1) < -1e-8 * size, axis=1)


def rearrange(predictions: Real[np.ndarray, "n k"]) -> Real[np.ndarray, "n k"]:
    """Sort each row: quantiles in order, never further from the true ones (Chernozhukov, Fernández-Val, Galichon 2010).

    >>> rearrange(np.array([[2.0, 1.0]])).tolist()
    [[1.0, 2.0]]
    """
    return np.sort(predictions, axis=1)


def _programme(matrix: np.ndarray, target: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solutions (levels, p) and optimal values of the joint programme; several levels are kept in order."""
    from scipy import sparse
    from scipy.optimize import linprog

    n, p = matrix.shape
    k = len(levels)
    eye, dense = sparse.eye_array(k * n), sparse.csr_array(matrix)
    ordered = None
    if k > 1:
        step = sparse.eye_array(k - 1, k) - sparse.eye_array(k - 1, k, k=1)  # f_k − f_{k+1} ≤ 0
        ordered = sparse.hstack([sparse.kron(step, dense), sparse.csr_array(((k - 1) * n, 2 * k * n))], format="csr")
    cost = np.repeat(levels, n) / n, np.repeat(1 - levels, n) / n
    programme = linprog(
        c=np.concatenate([np.zeros(k * p), *cost]),
        A_ub=ordered,
        b_ub=None if ordered is None else np.zeros((k - 1) * n),
        A_eq=sparse.hstack([sparse.kron(sparse.eye_array(k), dense), eye, -eye], format="csr"),
        b_eq=np.tile(target, k),
        bounds=[(None, None)] * (k * p) + [(0, None)] * (2 * k * n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the quantile programme: {programme.message}")
    values = (np.concatenate(cost) * programme.x[k * p :]).reshape(2, k, n).sum(axis=(0, 2))
    return programme.x[: k * p].reshape(k, p), values


def _levels(tau: float | Real[Array | np.ndarray, "*t"]) -> Float[np.ndarray, "*t"]:
    levels = np.asarray(tau, float)
    if not np.all((levels > 0) & (levels < 1)):
        worst = levels.ravel()[np.argmax(np.abs(levels - 0.5))]
        raise ValueError(f"Got the level {worst:g} of a quantile; give levels strictly between 0 and 1.")
    return levels
