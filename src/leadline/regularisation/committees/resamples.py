"""Rows drawn with replacement: which are in a resample, which are left out, and what the members without them say."""

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from leadline._checks import require_counts
from leadline.data import generator


def bootstrap_rows(samples: int, resamples: int, *, key: PRNGKeyArray) -> Int[np.ndarray, "{resamples} {samples}"]:
    """`samples` row numbers drawn with replacement, so many times (Efron 1979).

    >>> import jax
    >>> bootstrap_rows(4, 2, key=jax.random.key(0)).shape
    (2, 4)
    """
    require_counts("bootstrap_rows", samples=samples, resamples=resamples)
    return generator(key).integers(0, samples, (resamples, samples))


def distinct_share(samples: int) -> float:
    """1 − (1 − 1/N)ᴺ, the expected share of rows that a resample holds at least once; 1 − 1/e = 0.632 in the limit.

    >>> distinct_share(2), round(distinct_share(10**9), 3)
    (0.75, 0.632)
    """
    require_counts("distinct_share", samples=samples)
    return 1.0 if samples == 1 else float(-np.expm1(samples * np.log1p(-1 / samples)))


def left_out_mean(
    predictions: Float[np.ndarray, "members n ..."], rows: Int[np.ndarray, "members k"]
) -> Float[np.ndarray, "n ..."]:
    """For each of n rows the mean prediction of the members whose resample is without it; NaN where there is none.

    Errors of these are out-of-bag errors: no member judges a row that it was fitted to (Breiman 1996).

    >>> left_out_mean(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 0], [0, 1]])).tolist()
    [nan, 2.0]
    """
    predictions, rows = np.asarray(predictions, float), np.asarray(rows)
    if len(predictions) != len(rows) or rows.min() < 0 or rows.max() >= predictions.shape[1]:
        raise ValueError(
            f"left_out_mean got predictions of shape {predictions.shape} and rows of shape {rows.shape} up to "
            f"{rows.max()}; give the row numbers of every member, each below the number of predictions."
        )
    unseen = np.ones(predictions.shape[:2])
    unseen[np.arange(len(rows))[:, None], rows] = 0.0
    total = np.einsum("mn,mn...->n...", unseen, predictions)
    count = unseen.sum(axis=0).reshape(-1, *[1] * (predictions.ndim - 2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
