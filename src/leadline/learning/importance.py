"""How much a model loses without a variable: removed and refitted, or permuted."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Real

from leadline._checks import require, require_rows
from leadline.data import generator

from .regression.linear import design, least_squares, sample

Inputs = Real[np.ndarray, "n d"]
Targets = Real[np.ndarray, " n"]
Predictor = Callable[[np.ndarray], np.ndarray]
Fitter = Callable[[np.ndarray, np.ndarray], Predictor]


def linear_fitter(x: Inputs, y: Targets) -> Predictor:
    """Least squares with an intercept as a fitter: a function from data to a function from inputs to predictions."""
    fit = least_squares(x, y)
    return lambda rows: np.asarray(fit.predict(rows))


def refit_importance(x: Inputs, y: Targets, fitter: Fitter = linear_fitter) -> Float[np.ndarray, " d"]:
    """The rise of the mean squared residual when variable j is removed and the model is fitted again.

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> refit_importance(x, x @ np.array([1.0, 2.0])).round(9).tolist()
    [1.0, 4.0]
    """
    require("refit_importance", axes=2, x=x)
    require("refit_importance", axes=1, y=y)
    require_rows("refit_importance", x=x, y=y)
    whole = _mean_square(fitter(x, y), x, y)
    parts = [np.delete(x, j, axis=1) for j in range(x.shape[1])]
    return np.array([_mean_square(fitter(part, y), part, y) - whole for part in parts])


def permutation_importance(
    predictor: Predictor, x: Inputs, y: Targets, *, repeats: int = 20, key: PRNGKeyArray
) -> Float[np.ndarray, "repeats d"]:
    """The rise of the mean squared residual when column j is shuffled and the model stays as it is (Breiman 2001)."""
    rng = generator(key)
    whole = _mean_square(predictor, x, y)
    rises = np.empty((repeats, x.shape[1]))
    for r in range(repeats):
        for j in range(x.shape[1]):
            shuffled = x.copy()
            shuffled[:, j] = rng.permutation(x[:, j])
            rises[r, j] = _mean_square(predictor, shuffled, y) - whole
    return rises


def drop_one_rise(
    x: Real[Array | np.ndarray, "n d"], y: Real[Array | np.ndarray, " n"], *, intercept: bool = True
) -> Float[np.ndarray, " d"]:
    """The rise wⱼ²/[(XᵀX)⁻¹]ⱼⱼ of the residual sum of squares when column j leaves least squares, without refits.

    It is σ̂² times the square of the t-statistic of wⱼ.

    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> drop_one_rise(x, x @ np.array([1.0, 2.0])).round(9).tolist()
    [4.0, 16.0]
    """
    _, x, y = sample(np.asarray(x), np.asarray(y))
    matrix = design(x, intercept=intercept)
    d = x.shape[1]
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise ValueError("drop_one_rise got columns that depend on each other; remove one or use refit_importance.")
    q, r = np.linalg.qr(matrix)
    inverse = np.linalg.inv(r)  # (XᵀX)⁻¹ = R⁻¹R⁻ᵀ
    weights = inverse @ (q.T @ y)
    return (weights**2 / np.sum(inverse**2, axis=1))[:d]


class Importance(NamedTuple):
    """Importance of every variable with a bootstrap interval, and the condition number of the standardised inputs.

    A condition number above about 30 says that variables stand in for each other: they share their importance and may
    all look useless (Belsley, Kuh and Welsch 1980).
    """

    value: Float[np.ndarray, " d"]
    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]
    condition: float

    @property
    def collinear(self) -> bool:
        """Whether the condition number exceeds 30."""
        return self.condition > 30


def variable_importance(
    x: Inputs,
    y: Targets,
    fitter: Fitter = linear_fitter,
    *,
    resamples: int = 200,
    level: float = 0.95,
    key: PRNGKeyArray,
) -> Importance:
    """`refit_importance` with percentile intervals over examples drawn with replacement.

    >>> import jax
    >>> x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    >>> found = variable_importance(x, x @ np.array([1.0, 2.0]), key=jax.random.key(0))
    >>> found.value.round(9).tolist(), round(found.condition, 6), found.collinear
    ([1.0, 4.0], 1.0, False)
    """
    require("variable_importance", axes=2, x=x)
    require("variable_importance", axes=1, y=y)
    require_rows("variable_importance", x=x, y=y)
    rng = generator(key)
    rows = rng.integers(0, len(y), (resamples, len(y)))
    drawn = np.array([refit_importance(x[r], y[r], fitter) for r in rows])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    s = np.linalg.svd(scaled, compute_uv=False)
    rounding = max(x.shape) * np.finfo(float).eps * s[0]
    condition = float(s[0] / s[-1]) if s[-1] > rounding else float("inf")
    return Importance(refit_importance(x, y, fitter), low, high, condition)


def _mean_square(predictor: Predictor, x: Inputs, y: Targets) -> float:
    return float(np.mean((y - np.asarray(predictor(x))) ** 2))
