"""The bootstrap of any statistic: its values on resamples, their spread, and percentile and BCa intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from leadline._checks import require_counts, require_rows
from leadline.data import generator


class Bootstrap(NamedTuple):
    """A statistic of a sample and of its resamples."""

    estimate: float  #: of the sample itself
    values: Float[np.ndarray, " resamples"]  #: of the resamples
    deviation: float  #: the standard deviation of the values: the standard error of the estimate
    percentile: tuple[float, float]  #: the interval between two quantiles of the values
    bca: tuple[float, float]  #: the same, corrected for bias and for skewness (acceleration)


def bootstrap(
    statistic: Callable[..., float],
    *columns: Shaped[Array | np.ndarray, "_ ..."],
    resamples: int = 2000,
    level: float = 0.95,
    key: PRNGKeyArray,
) -> Bootstrap:
    """A statistic recomputed on samples drawn from the rows with replacement, the columns together (Efron 1979).

    The values stand for the statistic's distribution over samples of this size. BCa intervals (Efron 1987) are right
    to second order where percentile intervals are to first; both need a statistic that is smooth in the weights of the
    rows, which a mean or a fitted coefficient is and a maximum is not. `scipy.stats.bootstrap` does the work; for the
    interval of a metric alone there is `learning.bootstrap_interval`.

    >>> import jax
    >>> x = np.arange(20.0)
    >>> found = bootstrap(np.mean, x, key=jax.random.key(0))
    >>> found.estimate, bool(abs(found.deviation - x.std() / 20**0.5) < 0.1)
    (9.5, True)
    """
    from scipy import stats

    require_counts("bootstrap", least=2, resamples=resamples)
    if not columns:
        raise ValueError("bootstrap got no columns; give the sample whose rows are resampled.")
    arrays = [np.asarray(column) for column in columns]
    require_rows("bootstrap", **{f"column {index}": array for index, array in enumerate(arrays)})
    if len(arrays[0]) < 2 or not 0 < level < 1:
        raise ValueError(
            f"bootstrap got {len(arrays[0])} row(s) and level = {level}; give at least 2 rows and a level between 0 "
            "and 1."
        )

    def of_rows(rows: np.ndarray) -> float:
        return float(statistic(*(array[rows] for array in arrays)))

    rows = np.arange(len(arrays[0]))
    options = {"vectorized": False, "confidence_level": level}
    drawn = stats.bootstrap((rows,), of_rows, n_resamples=resamples, method="percentile", rng=generator(key), **options)
    values, percentile = np.asarray(drawn.bootstrap_distribution, float), _ends(drawn)
    if not np.isfinite(values).all():
        raise ValueError(
            f"bootstrap got a statistic that is no finite number on {np.sum(~np.isfinite(values))} of {resamples} "
            "resamples; give one that every resample has, or more rows."
        )
    bca = percentile  # of a statistic that no resample changes
    if np.ptp(values) > 0:
        bca = _ends(stats.bootstrap((rows,), of_rows, n_resamples=0, method="BCa", bootstrap_result=drawn, **options))
    return Bootstrap(of_rows(rows), values, float(drawn.standard_error), percentile, bca)


def _ends(found: Any) -> tuple[float, float]:
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
