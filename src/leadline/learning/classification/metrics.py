"""What a predictor is judged by: metrics of classifiers and regressors, each with a bootstrap interval."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, Shaped

from leadline._checks import require
from leadline.data import generator

Labels = Int[Array | np.ndarray, " _"]
LabelDraws = Int[Array | np.ndarray, "..."]  # one set of labels, or several in rows
Scores = Num[Array | np.ndarray, "_ m"]
Column = Shaped[Array | np.ndarray, " _"]


def confusion_matrix(labels: Labels, predicted: Labels, classes: int | None = None) -> Int[np.ndarray, "m m"]:
    """How often class i (row) was taken for class j (column); the diagonal counts what is right.

    >>> confusion_matrix(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [[1, 1], [0, 2]]
    """
    labels, predicted = _pair("confusion_matrix", labels, predicted)
    m = int(max(labels.max(), predicted.max())) + 1 if classes is None else classes
    if min(labels.min(), predicted.min()) < 0 or max(labels.max(), predicted.max()) >= m:
        raise ValueError(f"confusion_matrix got labels outside 0..{m - 1}; number the classes from 0.")
    return np.bincount(labels * m + predicted, minlength=m * m).reshape(m, m)


def error_rate(labels: Labels, predicted: Labels) -> float:
    """The share of examples whose predicted class is not their label.

    >>> error_rate(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 0]))
    0.25
    """
    labels, predicted = _pair("error_rate", labels, predicted)
    return float((labels != predicted).mean())


def cost_sensitive_error(labels: Labels, predicted: Labels, cost: Num[Array | np.ndarray, "m m"]) -> float:
    """The mean of cost[label, prediction]; with cost 1 off the diagonal and 0 on it this is the error rate.

    >>> cost_sensitive_error(np.array([0, 1]), np.array([1, 1]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    5.0
    """
    labels, predicted = _pair("cost_sensitive_error", labels, predicted)
    cost = np.asarray(cost, float)
    require("cost_sensitive_error", axes=2, cost=cost)
    if min(labels.min(), predicted.min()) < 0 or labels.max() >= len(cost) or predicted.max() >= cost.shape[1]:
        raise ValueError(
            f"cost_sensitive_error got labels outside its costs of shape {cost.shape}; number them from 0."
        )
    return float(cost[labels, predicted].mean())


def top_k_error(labels: Labels, scores: Scores, k: int) -> float:
    """The share of examples whose label is not among the k classes of largest score; ties go to the smaller index.

    >>> top_k_error(np.array([2, 0]), np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]), 2)
    1.0
    """
    labels, scores = _scored("top_k_error", labels, scores, axes=1)
    if not 1 <= k <= scores.shape[1]:
        raise ValueError(f"top_k_error got k = {k}; expected 1 to {scores.shape[1]}, the number of classes.")
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return float((first != labels[:, None]).all(axis=1).mean())


class PrecisionRecall(NamedTuple):
    """Of what was found, the share that is right; of what is there, the share found; their harmonic mean."""

    precision: float
    recall: float
    f1: float


def precision_recall(present: Column, reported: Column) -> PrecisionRecall:
    """Precision TP/(TP+FP), recall TP/(TP+FN) and F1 = 2TP/(2TP+FP+FN) of yes-or-no answers; 0 where it is 0/0.

    >>> [round(v, 4) for v in precision_recall(np.array([1, 1, 1, 0]), np.array([1, 0, 0, 1]))]
    [0.5, 0.3333, 0.4]
    """
    present, reported = (np.asarray(a).astype(bool) for a in _pair("precision_recall", present, reported))
    both, found, there = int((present & reported).sum()), int(reported.sum()), int(present.sum())
    return PrecisionRecall(
        both / found if found else 0.0,
        both / there if there else 0.0,
        2 * both / (found + there) if found + there else 0.0,
    )


def area_under_curve(present: Column, score: Column) -> float:
    """The chance that a random positive example scores above a random negative one, a tie counting one half.

    From mean ranks: the statistic of Mann and Whitney over the number of pairs, in O(n log n).

    >>> area_under_curve(np.array([1, 1, 0, 0]), np.array([3.0, 1.0, 1.0, 0.0]))
    0.875
    """
    from scipy.stats import rankdata

    present, score = _pair("area_under_curve", present, score)
    present = present.astype(bool)
    positive = int(present.sum())
    negative = len(present) - positive
    if positive == 0 or negative == 0:
        raise ValueError("area_under_curve got examples of one kind only; it compares positive with negative ones.")
    wins = rankdata(score)[present].sum() - positive * (positive + 1) / 2
    return float(wins / (positive * negative))


def log_loss(labels: LabelDraws, probabilities: Scores) -> float | Float[np.ndarray, "..."]:
    """-mean log p(label): infinite if a label was given probability 0. Several sets of labels, in rows, have one each.

    >>> round(float(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.75, 0.25]]))), 4)
    1.0397
    """
    labels, probabilities = _scored("log_loss", labels, probabilities)
    with np.errstate(divide="ignore"):
        return -np.log(probabilities[np.arange(len(probabilities)), labels]).mean(-1)


def brier_score(labels: LabelDraws, probabilities: Scores) -> float | Float[np.ndarray, "..."]:
    """mean Σ_k (p_k - 1{label = k})², between 0 and 2 (Brier 1950; some divide by 2 if there are two classes).

    Several sets of labels, in rows, have one each.

    >>> float(brier_score(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]])))
    1.25
    """
    labels, probabilities = _scored("brier_score", labels, probabilities)
    given = probabilities[np.arange(len(probabilities)), labels]
    return (np.sum(probabilities**2, axis=1) - given**2 + (1 - given) ** 2).mean(-1)


class Reliability(NamedTuple):
    """Examples in bins of equal width over their confidence; empty bins are left out."""

    confidence: Float[np.ndarray, " bins"]  # mean in the bin
    accuracy: Float[np.ndarray, " bins"]
    count: Int[np.ndarray, " bins"]


def reliability(confidence: Column, correct: Column, bins: int = 15) -> Reliability:
    """Confidence beside accuracy, bin by bin (i/B, (i+1)/B]; a calibrated predictor has them equal.

    >>> reliability(np.array([0.9, 0.8, 0.3]), np.array([1, 0, 0]), bins=2).accuracy.tolist()
    [0.0, 0.5]
    """
    confidence, correct = _pair("reliability", confidence, correct)
    bin_of = _bins(confidence, bins)
    count = np.bincount(bin_of, minlength=bins)
    kept = count > 0
    mean = [np.bincount(bin_of, v, minlength=bins)[kept] / count[kept] for v in (confidence, correct.astype(float))]
    return Reliability(mean[0], mean[1], count[kept])


def calibration_error(
    confidence: Column, correct: Shaped[Array | np.ndarray, "..."], bins: int = 15
) -> float | Float[np.ndarray, "..."]:
    """Expected calibration error: Σ_bins (share of the bin) |accuracy - mean confidence|, in bins of equal width.

    It depends on the bins, and a sample of a calibrated predictor has it above 0 (Guo et al. 2017). Several sets of
    answers, in rows, have one each.

    >>> round(float(calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1, 1, 1, 0]))), 12)
    0.1
    """
    confidence, correct = np.asarray(confidence), np.asarray(correct)
    _pair("calibration_error", confidence, correct[(0,) * (correct.ndim - 1)])
    member = np.eye(bins)[_bins(confidence, bins)]  # (n, bins)
    return np.abs((correct.astype(float) - confidence) @ member).sum(-1) / len(confidence)


def _bins(confidence: np.ndarray, bins: int) -> np.ndarray:
    """The bin (i/B, (i+1)/B] of each confidence."""
    if bins < 1 or confidence.min() < 0 or confidence.max() > 1:
        raise ValueError(f"There are {bins} bins of confidences; give at least one bin, and confidences in [0, 1].")
    return np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)


def root_mean_square_error(targets: Column, predictions: Column) -> float:
    """√mean (target - prediction)².

    >>> root_mean_square_error(np.array([0.0, 0.0]), np.array([3.0, -3.0]))
    3.0
    """
    targets, predictions = _pair("root_mean_square_error", targets, predictions)
    return float(np.sqrt(((targets - predictions) ** 2).mean()))


def mean_absolute_error(targets: Column, predictions: Column) -> float:
    """mean |target - prediction|."""
    targets, predictions = _pair("mean_absolute_error", targets, predictions)
    return float(np.abs(targets - predictions).mean())


def mean_pinball_loss(targets: Column, predictions: Column, tau: float) -> float:
    """mean r (τ - 1{r < 0}), r = target - prediction: what a τ-quantile is judged by."""
    targets, predictions = _pair("mean_pinball_loss", targets, predictions)
    r = targets - predictions
    return float((r * (tau - (r < 0))).mean())


def interval_coverage(targets: Column, low: Column, high: Column) -> float:
    """The share of targets within [low, high].

    >>> interval_coverage(np.array([1.0, 5.0]), np.array([0.0, 0.0]), np.array([2.0, 2.0]))
    0.5
    """
    targets, low = _pair("interval_coverage", targets, low)
    return float(((low <= targets) & (targets <= np.asarray(high))).mean())


class Interval(NamedTuple):
    """An estimate with an interval around it."""

    estimate: float
    low: float
    high: float


def bootstrap_interval(
    metric: Callable[..., float],
    *columns: Shaped[Array | np.ndarray, "_ ..."],
    key: PRNGKeyArray,
    level: float = 0.95,
    resamples: int = 500,
) -> Interval:
    """The metric of the sample, with Efron's percentile interval over samples drawn from its rows with replacement.

    The columns are resampled together. `scipy.stats.bootstrap` does the drawing.

    >>> import jax
    >>> labels, predicted = np.arange(100) % 2, np.zeros(100, int)
    >>> found = bootstrap_interval(error_rate, labels, predicted, key=jax.random.key(0))
    >>> found.estimate, 0.38 < found.low < 0.45, 0.55 < found.high < 0.62
    (0.5, True, True)
    """
    from scipy.stats import bootstrap

    arrays = [np.asarray(c) for c in columns]
    if not arrays or any(len(a) != len(arrays[0]) for a in arrays) or len(arrays[0]) < 2:
        raise ValueError("bootstrap_interval needs columns of one length, at least 2; its rows are what is resampled.")
    if not 0 < level < 1:
        raise ValueError(f"bootstrap_interval got level = {level}; it must lie strictly between 0 and 1.")
    found = bootstrap(
        (np.arange(len(arrays[0])),),
        lambda rows: metric(*(a[rows] for a in arrays)),
        vectorized=False,
        confidence_level=level,
        n_resamples=resamples,
        method="percentile",
        rng=generator(key),
    ).confidence_interval
    return Interval(float(metric(*arrays)), float(found.low), float(found.high))


def _pair(function: str, a, b) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(f"{function} got arrays of shapes {a.shape} and {b.shape}; give two of one length, not empty.")
    require(function, arrays=np.stack([a, b]))
    return a, b


def _scored(
    function: str, labels: LabelDraws, scores: Scores, *, axes: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Labels, one set or several in rows, and one score a class, as arrays that fit each other."""
    labels, scores = np.asarray(labels), np.asarray(scores, float)
    require(function, axes=axes, labels=labels)
    require(function, axes=2, scores=scores)
    if labels.shape[-1:] != scores.shape[:1] or labels.min() < 0 or labels.max() >= scores.shape[1]:
        raise ValueError(
            f"{function} got labels of shape {labels.shape} from {labels.min()} to {labels.max()} and scores of shape "
            f"{scores.shape}; give a row for each label and a column for each class, numbered from 0."
        )
    return labels, scores
