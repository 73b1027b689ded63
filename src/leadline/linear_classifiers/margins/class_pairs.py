"""How hard every pair of classes is to tell apart by a hyperplane."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from .hard_margin import max_margin


class PairDifficulty(NamedTuple):
    """One row for each pair of classes (first labelled +1, second -1), in the order of `itertools.combinations`."""

    pairs: Int[np.ndarray, "p 2"]
    margin: Float[np.ndarray, " p"]  # γ, 0 where the pair is not separable
    radius: Float[np.ndarray, " p"]  # R
    difficulty: Float[np.ndarray, " p"]  # R²/γ², infinite where not separable: bounds the perceptron's updates
    separable: Bool[np.ndarray, " p"]


def pair_difficulty(x: Num[Array | np.ndarray, "n d"], labels: Int[Array | np.ndarray, " n"]) -> PairDifficulty:
    """R²/γ² of every pair of classes, with the bias absorbed: x ↦ (x, 1), then the homogeneous margin.

    Novikoff's bound for the perceptron with a bias, pair by pair: a ranking of the class pairs by linear difficulty.

    >>> import numpy as np
    >>> found = pair_difficulty(np.array([[0.0], [2.0], [2.5]]), np.array([0, 1, 2]))
    >>> found.pairs.tolist(), found.difficulty.round(6).tolist()
    ([[0, 1], [0, 2], [1, 2]], [10.0, 11.89, 703.25])
    """
    x, labels = np.asarray(x, np.float64), np.asarray(labels)
    classes = np.unique(labels)
    if x.ndim != 2 or labels.shape != x.shape[:1] or len(classes) < 2:
        raise ValueError(
            f"Got inputs of shape {x.shape} and labels of shape {labels.shape} with {len(classes)} classes; "
            "expected (n, d), (n,) and at least two classes."
        )
    pairs = list(combinations(classes.tolist(), 2))
    margin, radius = np.zeros(len(pairs)), np.zeros(len(pairs))
    for row, pair in enumerate(pairs):
        points, y = class_pair(x, labels, *pair)
        radius[row] = np.linalg.norm(points, axis=1).max()
        try:
            margin[row] = max_margin(points, y, bias=False).margin
        except ValueError:
            if not np.isfinite(points).all():
                raise
    with np.errstate(divide="ignore"):
        difficulty = (radius / margin) ** 2
    return PairDifficulty(np.array(pairs), margin, radius, difficulty, margin > 0)


def class_pair(
    x: Num[Array | np.ndarray, "n d"], labels: Int[Array | np.ndarray, " n"], first: int, second: int
) -> tuple[Float[np.ndarray, "m d+1"], Float[np.ndarray, " m"]]:
    """The examples of two classes, with a constant 1 appended and labels +1 (first) and -1 (second).

    >>> import numpy as np
    >>> class_pair(np.array([[5.0], [6.0], [7.0]]), np.array([0, 1, 2]), 2, 0)
    (array([[5., 1.],
           [7., 1.]]), array([-1.,  1.]))
    """
    x, labels = np.asarray(x, np.float64), np.asarray(labels)
    chosen = (labels == first) | (labels == second)
    points = np.column_stack([x[chosen], np.ones(chosen.sum())])
    return points, np.where(labels[chosen] == first, 1.0, -1.0)
