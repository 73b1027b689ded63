"""How well predicted regions cover the true ones: intersection over union and Dice's coefficient, by class."""

import numpy as np
from jaxtyping import Float

from .metrics import LabelDraws, confusion_matrix


def intersection_over_union(
    labels: LabelDraws, predicted: LabelDraws, classes: int | None = None
) -> Float[np.ndarray, " m"]:
    """|A ∩ B| / |A ∪ B| of each class, A the pixels (or examples) that have its label and B those predicted to.

    Jaccard's index: TP/(TP + FP + FN). Arrays of labels of any shape, images say, are taken as one set of pixels; a
    class that is in neither has no number (nan).

    >>> intersection_over_union(np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 1]])).round(4).tolist()
    [0.5, 0.6667]
    """
    both, there, found = _overlaps("intersection_over_union", labels, predicted, classes)
    with np.errstate(invalid="ignore"):
        return both / (there + found - both)


def dice(labels: LabelDraws, predicted: LabelDraws, classes: int | None = None) -> Float[np.ndarray, " m"]:
    """2 |A ∩ B| / (|A| + |B|) of each class (Dice 1945): the F1 of its pixels, and 2J/(1 + J) of Jaccard's index J.

    >>> dice(np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 1]])).round(4).tolist()
    [0.6667, 0.8]
    """
    both, there, found = _overlaps("dice", labels, predicted, classes)
    with np.errstate(invalid="ignore"):
        return 2 * both / (there + found)


def _overlaps(function: str, labels: LabelDraws, predicted: LabelDraws, classes: int | None) -> tuple[np.ndarray, ...]:
    """How many of each class are in both arrays, in the first and in the second."""
    labels, predicted = np.asarray(labels), np.asarray(predicted)
    if labels.shape != predicted.shape or labels.size == 0:
        raise ValueError(
            f"{function} got arrays of shapes {labels.shape} and {predicted.shape}; give two of one shape, not empty."
        )
    counts = confusion_matrix(labels.ravel(), predicted.ravel(), classes)
    return np.diag(counts), counts.sum(1), counts.sum(0)
