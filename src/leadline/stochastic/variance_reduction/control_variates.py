"""Control variates: a correlated quantity of known mean, subtracted to lower the variance."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Samples = Float[np.ndarray, " n"]


class ControlledMean(NamedTuple):
    """An estimate of E X, its standard error, and the coefficient c used (with a split, the mean of two)."""

    estimate: float
    error: float
    coefficient: float


def controlled(x: Samples, y: Samples, mean_y: float, c: float) -> Samples:
    """X̂ = X + c(Y − E Y): the mean of X for every fixed c.

    >>> controlled(np.array([1.0, 3.0]), np.array([0.0, 2.0]), 1.0, -1.0).tolist()
    [2.0, 2.0]
    """
    return x + c * (y - mean_y)


def controlled_variance(
    var_x: float, var_y: float, covariance: float, c: float | Float[np.ndarray, "..."]
) -> float | Float[np.ndarray, "..."]:
    """Var X̂ = Var X + c² Var Y + 2c Cov(X, Y).

    >>> controlled_variance(1.0, 1.0, 0.0, -1.0)
    2.0
    """
    return var_x + c**2 * var_y + 2 * c * covariance


def best_coefficient(x: Samples, y: Samples) -> float:
    """c* = −Cov(X, Y)/Var Y of the samples, at which Var X̂ = (1 − corr²) Var X.

    >>> best_coefficient(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    -2.0
    """
    spread = np.var(y)
    if not spread > 0:
        raise ValueError(
            "The control variate is constant, so that no coefficient changes anything; give one that varies."
        )
    return float(-np.mean((x - np.mean(x)) * (y - np.mean(y))) / spread)


def controlled_mean(
    x: Samples, y: Samples, mean_y: float, *, c: float | None = None, split: bool = False
) -> ControlledMean:
    """The mean of X̂ with the given c, or with c* estimated.

    An estimate from the same samples makes the mean biased by O(1/n); with `split`, the c of either half is used on
    the other half, which removes the bias.

    >>> controlled_mean(np.array([1.0, 3.0]), np.array([0.0, 1.0]), 0.25).estimate
    1.5
    """
    if c is None and split:
        half = len(x) // 2
        first, second = slice(None, half), slice(half, None)
        coefficients = [best_coefficient(x[s], y[s]) for s in (first, second)]
        parts = [controlled(x[s], y[s], mean_y, k) for s, k in zip((second, first), coefficients, strict=True)]
        values, used = np.concatenate(parts), float(np.mean(coefficients))
    else:
        used = best_coefficient(x, y) if c is None else c
        values = controlled(x, y, mean_y, used)
    return ControlledMean(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))), used)


def best_weight(staleness: float, variance: float) -> float:
    """λ* = ‖Ḡ − g‖²/(‖Ḡ − g‖² + V): the λ of λ(gᵢ − Gᵢ) + Ḡ with the least error (1 − λ)²‖Ḡ − g‖² + λ²V.

    `staleness` is ‖Ḡ − g‖², `variance` V that of gᵢ − Gᵢ.

    >>> best_weight(1.0, 3.0)
    0.25
    """
    return staleness / (staleness + variance) if staleness + variance > 0 else 1.0
