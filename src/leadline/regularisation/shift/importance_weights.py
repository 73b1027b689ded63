"""Importance weights p_test(x)/p_train(x): from a classifier, and how many rows they leave."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline._checks import require
from leadline.data import generator
from leadline.learning import fit_logistic

from .detector import Inputs, discriminator, log_odds, two_samples

LEAST_SIZE = 10.0  #: below this effective sample size a weighted fit is that of a handful of rows

Weights = Num[Array | np.ndarray, " _"]


class DensityRatios(NamedTuple):
    """Weights of the training rows, estimated from inputs alone."""

    weights: Float[np.ndarray, " n"]
    effective_size: float
    slope: float  # of the calibration: 1 where the classifier's log-odds were right, below 1 where too sure
    clipped: int  # rows whose weight was cut


def effective_sample_size(weights: Weights) -> float:
    """(Σ pᵢ)²/Σ pᵢ², from 1 where one row has all weight to n where all rows have the same (Kish 1965).

    Between N(0, 1) and N(δ, 1) it falls as n exp(-δ²). A sample without the rows of large weight shows too much of it:
    then the mean of known ratios is far below 1.

    >>> effective_sample_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    require("effective_sample_size", axes=1, weights=weights)
    p = np.asarray(weights, float)
    if (p < 0).any() or not np.isfinite(p).all() or not p.any():
        raise ValueError(
            f"effective_sample_size got weights from {p.min():.3g} to {p.max():.3g}; give finite ones, at least 0, and "
            "some above."
        )
    p = p / p.max()
    return float(p.sum() ** 2 / (p**2).sum())


def density_ratios(
    train: Inputs, test: Inputs, *, classifier: Any = None, folds: int = 5, clip: float | None = None, key: PRNGKeyArray
) -> DensityRatios:
    """p_test/p_train at the training rows: the odds of being a test row, times n_train/n_test (Bickel et al. 2009).

    A classifier (as in `detect_shift`) scores each row from the other `folds`; Platt's logistic fit on these scores
    calibrates them. `clip` is a largest weight: less variance, some bias. Samples that can be told apart without error
    have no finite ratio and are refused.

    >>> import jax
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> ratios = density_ratios(x, rng.normal(size=(2000, 1)) + 1.0, key=jax.random.key(0))
    >>> bool(np.corrcoef(np.log(ratios.weights), x[:, 0] - 0.5)[0, 1] > 0.99), 0.8 < ratios.slope < 1.2
    (True, True)
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    rows, is_test = two_samples("density_ratios", train, test, least=max(folds, 2))
    if folds < 2 or (clip is not None and not clip > 0):
        raise ValueError(f"density_ratios got folds = {folds} and clip = {clip}; give 2 or more, and a clip above 0.")
    seed = int(generator(key).integers(2**31))
    scores = np.empty(len(rows))
    for fit, held in StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, is_test):
        model = (discriminator() if classifier is None else clone(classifier)).fit(rows[fit], is_test[fit])
        scores[held] = log_odds(model, rows[held])
    try:
        platt = fit_logistic(scores[:, None], is_test.astype(int))
    except ValueError:
        raise ValueError(
            "density_ratios can tell every train input from every test input, so that their densities have no ratio; "
            "collect training data where the test inputs are."
        ) from None
    ours = ~is_test
    found = np.exp(platt.log_odds(scores[ours, None])) * ours.sum() / is_test.sum()
    cut = found if clip is None else np.minimum(found, clip)
    return DensityRatios(cut, effective_sample_size(cut), float(platt.weights[0]), int(np.sum(cut < found)))


def require_overlap(function: str, weights: Weights, rows: int) -> np.ndarray:
    """The weights as numbers; ValueError where they are not one a row, or their effective size is below 10."""
    p = np.asarray(weights, float)
    if p.shape != (rows,):
        raise ValueError(f"{function} got weights of shape {p.shape} for {rows} rows; give one weight for each.")
    size = effective_sample_size(p)
    if size < LEAST_SIZE:
        raise ValueError(
            f"{function} got weights with an effective sample size of {size:.2g} for {rows} rows; it needs "
            f"{LEAST_SIZE:.0f}, so collect training data where the test inputs are, or clip the weights."
        )
    return p
