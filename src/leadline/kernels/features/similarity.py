"""Which examples a feature space makes similar, and how well that agrees with their classes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from leadline.learning import area_under_curve


class PairSimilarities(NamedTuple):
    """The similarity of every pair i < j, and whether the two are of one class."""

    similarity: Float[np.ndarray, " pairs"]
    related: Bool[np.ndarray, " pairs"]


def centred_cosine(features: Num[Array | np.ndarray, "n p"]) -> Float[np.ndarray, "n n"]:
    """⟨a, b⟩/(‖a‖ ‖b‖) of features from which their mean over the rows is taken; 0 for a row at the mean.

    >>> centred_cosine(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 3.0], [2.0, -3.0]]))[0].tolist()
    [1.0, -1.0, 0.0, 0.0]
    """
    centred = np.asarray(features, float)
    centred = centred - centred.mean(axis=0)
    norm = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0)
    return unit @ unit.T


def pair_similarities(
    features: Num[Array | np.ndarray, "n p"], labels: Int[Array | np.ndarray, " labels"]
) -> PairSimilarities:
    """The centred cosine of every pair of rows, and whether their labels agree."""
    labels = np.asarray(labels)
    if len(labels) != len(features) or len(labels) < 2:
        raise ValueError(f"pair_similarities got {len(features)} rows and {len(labels)} labels; give one for each row.")
    i, j = np.triu_indices(len(labels), 1)
    return PairSimilarities(centred_cosine(features)[i, j], labels[i] == labels[j])


def similarity_auc(features: Num[Array | np.ndarray, "n p"], labels: Int[Array | np.ndarray, " labels"]) -> float:
    """The chance that a random pair of one class is more similar than a random pair of two classes.

    1 for a feature space in which related examples are always nearer in angle, 1/2 for one that knows nothing.

    >>> similarity_auc(np.eye(3)[[0, 0, 1, 1, 2, 2]], np.array([0, 0, 1, 1, 2, 2]))
    1.0
    """
    similarity, related = pair_similarities(features, labels)
    return area_under_curve(related, similarity)
