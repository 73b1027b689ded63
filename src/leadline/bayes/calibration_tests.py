"""Whether probabilities mean what they say: reliability with exact intervals, and what a calibrated predictor shows."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from leadline.data import generator
from leadline.learning import brier_score, calibration_error, log_loss, reliability
from leadline.probability import binomial_interval

Probabilities = Float[np.ndarray, "n k"]


class ReliabilityTable(NamedTuple):
    """Bins of confidence: mean confidence, rows, correct rows, and the exact (Clopper-Pearson) interval of accuracy."""

    confidence: Float[np.ndarray, " bins"]
    count: Int[np.ndarray, " bins"]
    correct: Int[np.ndarray, " bins"]
    low: Float[np.ndarray, " bins"]
    high: Float[np.ndarray, " bins"]

    @property
    def accuracy(self) -> Float[np.ndarray, " bins"]:
        return self.correct / self.count


def reliability_table(
    confidence: Float[np.ndarray, " n"], correct: Float[np.ndarray, " n"], *, bins: int = 15, level: float = 0.95
) -> ReliabilityTable:
    """`learning.reliability` with the exact binomial interval of the accuracy in every bin that is not empty.

    >>> table = reliability_table(np.full(10, 0.8), np.r_[np.ones(8), np.zeros(2)], bins=1)
    >>> table.low.round(4).tolist(), table.high.round(4).tolist()
    ([0.4439], [0.9748])
    """
    found = reliability(confidence, correct, bins)
    right = np.rint(found.accuracy * found.count).astype(int)
    return ReliabilityTable(
        found.confidence, found.count, right, *binomial_interval(right, found.count, confidence=level)
    )


class CalibrationScores(NamedTuple):
    """Accuracy, expected calibration error, log loss and Brier score: of one set of labels, or one for each draw."""

    accuracy: Float[np.ndarray, "..."]
    calibration_error: Float[np.ndarray, "..."]
    log_loss: Float[np.ndarray, "..."]
    brier: Float[np.ndarray, "..."]


def calibration_scores(
    probabilities: Probabilities, labels: Int[np.ndarray, "*draws n"], *, bins: int = 15
) -> CalibrationScores:
    """The four scores of probabilities on one set of labels, or on each row of several sets.

    >>> [float(v.round(4)) for v in calibration_scores(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))]
    [0.5, 0.35, 0.5108, 0.37]
    """
    p, y = np.asarray(probabilities, float), np.asarray(labels)
    correct = y == p.argmax(1)
    error = calibration_error(p.max(1), correct, bins)
    loss = log_loss(y, np.maximum(p, np.finfo(float).tiny))  # a probability that was rounded to 0 costs 708
    return CalibrationScores(*(np.asarray(score) for score in (correct.mean(-1), error, loss, brier_score(y, p))))


def calibrated_scores(
    probabilities: Probabilities, *, bins: int = 15, draws: int = 999, key: PRNGKeyArray
) -> CalibrationScores:
    """The same scores where every label is drawn from its own probabilities: what a calibrated predictor shows.

    A measured score above the largest of 999 draws has a chance of 1 in 1000 under calibration, exactly.

    >>> import jax
    >>> null = calibrated_scores(np.full((400, 2), 0.5), draws=99, key=jax.random.key(0))
    >>> null.accuracy.shape, bool(abs(null.accuracy.mean() - 0.5) < 0.02)
    ((99,), True)
    """
    p = np.asarray(probabilities, float)
    if p.ndim != 2 or draws < 1 or p.min() < 0 or not np.allclose(p.sum(1), 1, atol=1e-6):
        raise ValueError(f"calibrated_scores got probabilities {p.shape}; give rows of numbers from 0 that sum to 1.")
    rng, total = generator(key), np.cumsum(p, axis=1)
    parts = []
    at_once = max(1, 2_000_000 // p.size)
    for first in range(0, draws, at_once):
        u = rng.random((min(at_once, draws - first), len(p)))
        labels = np.minimum((u[:, :, None] > total).sum(2), p.shape[1] - 1)
        parts.append(calibration_scores(p, labels, bins=bins))
    return CalibrationScores(*(np.concatenate(part) for part in zip(*parts, strict=True)))
