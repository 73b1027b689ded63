"""Is a series white? The Ljung-Box test of innovations."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require, require_counts


class Whiteness(NamedTuple):
    """Autocorrelations at lags 1, 2, … and the chance of values as large in a white series."""

    autocorrelations: Float[np.ndarray, " lags"]
    statistic: float
    p_value: float


def ljung_box(series: Real[Array | np.ndarray, " n"], lags: int) -> Whiteness:
    """n(n + 2) Σₖ ρₖ²/(n − k) over k = 1, …, lags, which is χ² of `lags` degrees for white noise (Ljung and Box 1978).

    The innovations of a filter with the right model are white; a model that misses something leaves correlation.

    >>> walk = np.cumsum(np.ones(50)) - 25.5
    >>> found = ljung_box(walk, 1)
    >>> found.autocorrelations.round(3).tolist(), found.p_value < 1e-6
    ([0.94], True)
    """
    from scipy.special import chdtrc

    require("ljung_box", axes=1, series=series)
    require_counts("ljung_box", lags=lags)
    z = np.asarray(series, float)
    n = len(z)
    if lags >= n:
        raise ValueError(f"ljung_box got {lags} lags for a series of {n}; give fewer lags than numbers.")
    z = z - z.mean()
    power = z @ z
    if power == 0:
        raise ValueError("ljung_box got a constant series, which has no correlations; give one that varies.")
    rho = np.array([z[k:] @ z[:-k] for k in range(1, lags + 1)]) / power
    statistic = float(n * (n + 2) * (rho**2 / (n - np.arange(1, lags + 1))).sum())
    return Whiteness(rho, statistic, float(chdtrc(lags, statistic)))
