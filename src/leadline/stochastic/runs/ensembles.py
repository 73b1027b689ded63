"""Many runs of one method as one picture: the mean with its confidence band, and quantiles of single runs."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float


class EnsembleBand(NamedTuple):
    """At each time: the mean of N runs, the ends of its Student interval, and quantiles of the runs in rows."""

    mean: Float[np.ndarray, "..."]
    low: Float[np.ndarray, "..."]
    high: Float[np.ndarray, "..."]
    quantiles: Float[np.ndarray, "..."]
    runs: int

    def covers(self, curve: Float[np.ndarray, "..."]) -> np.ndarray:
        return (self.low <= curve) & (curve <= self.high)


def ensemble_band(
    runs: Float[Array | np.ndarray, "..."], *, confidence: float = 0.95, quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
) -> EnsembleBand:
    """Record N independent runs (rows) of any quantity: gap, distance, accuracy.

    >>> band = ensemble_band(np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]]))
    >>> band.mean.tolist(), band.covers(np.array([2.5, 2.1])).tolist()
    ([2.0, 2.0], [True, False])
    """
    from scipy.special import stdtrit

    values = np.asarray(runs, float)
    count = len(values)
    if count < 2:
        raise ValueError(f"ensemble_band got {count} run(s); a band needs at least 2.")
    mean = values.mean(axis=0)
    half = stdtrit(count - 1, 0.5 + confidence / 2) * values.std(axis=0, ddof=1) / np.sqrt(count)
    return EnsembleBand(mean, mean - half, mean + half, np.quantile(values, quantiles, axis=0), count)
