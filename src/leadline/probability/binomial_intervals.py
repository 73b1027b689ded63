"""Exact intervals of a probability from successes in independent trials."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Side = Literal["two-sided", "lower", "upper"]


def binomial_interval(
    successes: int | Int[np.ndarray, "..."] | Float[np.ndarray, "..."],
    trials: int | Int[np.ndarray, "..."] | Float[np.ndarray, "..."],
    *,
    confidence: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """All p with P(Bin(n, p) ≥ k) and P(Bin(n, p) ≤ k) above their share of 1 − confidence (Clopper, Pearson 1934).

    The ends are quantiles of beta distributions. One-sided intervals ("lower": from below) spend everything on one
    tail; their other end is 1 or 0.

    >>> low, high = binomial_interval(np.array([0, 50]), 100)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.3983], [0.0362, 0.6017])
    """
    from scipy.special import betaincinv

    k, n = np.broadcast_arrays(np.asarray(successes), np.asarray(trials))
    if np.any(n < 1) or np.any(k < 0) or np.any(k > n):
        raise ValueError(f"There are {_range(k)} successes in {_range(n)} trials; give 0 ≤ successes ≤ trials ≥ 1.")
    if not 0 < confidence < 1:
        raise ValueError(f"binomial_interval got confidence {confidence}; give a number between 0 and 1, such as 0.95.")
    tail = (1 - confidence) / (2 if side == "two-sided" else 1)
    none, all_ = (k == 0) | (side == "upper"), (k == n) | (side == "lower")
    low = np.where(none, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))
    high = np.where(all_, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail))
    return low, high


def _range(values: np.ndarray) -> str:
    return f"{values.min():g}" if values.min() == values.max() else f"{values.min():g} to {values.max():g}"
