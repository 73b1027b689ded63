"""One number that repairs over- or under-confidence: the temperature by which scores are divided."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Temperature(NamedTuple):
    """T that minimises the log loss of softmax(scores/T), with its likelihood interval; T > 1 means overconfident.

    `bounded` is false where the log loss falls to the end of the search, as it does if every row is classified right.
    """

    value: float
    low: float
    high: float
    bounded: bool


def scaled_log_losses(
    scores: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], temperature: float = 1.0
) -> Float[np.ndarray, " n"]:
    """−ln softmax(scores/T)[label] of every row.

    >>> scaled_log_losses(np.array([[0.0, 0.0]]), np.array([0]), 3.0).round(6).tolist()
    [0.693147]
    """
    z = np.asarray(scores, float) / temperature
    z = z - z.max(1, keepdims=True)
    return np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), np.asarray(labels)]


def fit_temperature(
    scores: Float[np.ndarray, "n k"], labels: Int[np.ndarray, " n"], *, level: float = 0.95, reach: float = 100.0
) -> Temperature:
    """The best temperature on these rows, which must not be those that are then judged (Guo et al. 2017).

    The log loss is convex in 1/T. The interval holds all T with 2n(loss(T) − loss(T̂)) below the χ²₁ quantile.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(4000, 3))
    >>> p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    >>> y = (rng.random(4000)[:, None] > p.cumsum(1)).sum(1)
    >>> found = fit_temperature(2 * z, y)  # scores twice too large
    >>> found.low < 2.0 < found.high
    True
    """
    from scipy.optimize import brentq, minimize_scalar
    from scipy.special import chdtri

    if len(scores) < 2:
        raise ValueError(f"fit_temperature got {len(scores)} rows; give 2 or more.")
    edge = math.log(reach)

    def cost(log_t: float) -> float:
        return float(scaled_log_losses(scores, labels, math.exp(log_t)).sum())

    best = minimize_scalar(cost, bounds=(-edge, edge), method="bounded", options={"xatol": 1e-8}).x
    limit = cost(best) + chdtri(1, 1 - level) / 2
    ends = [
        brentq(lambda t: cost(t) - limit, *sorted((best, end)), xtol=1e-6) if cost(end) > limit else end
        for end in (-edge, edge)
    ]
    return Temperature(math.exp(best), math.exp(ends[0]), math.exp(ends[1]), bool(abs(best) < 0.99 * edge))
