"""Norms of the weights of a chain of layers, and the margins of a classifier: what norm-based bounds are made of."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Num

from leadline._arrays import spectral_norm

Matrix = Num[np.ndarray, "_ _"]


class LayerNorms(NamedTuple):
    """Norms of each layer's matrix: largest singular value, root of the sum of squares, and the sum of the lengths of
    the rows of what training added to the reference (`moved`), with its root of the sum of squares (`moved_frobenius`).
    """

    spectral: Float[np.ndarray, " layers"]
    frobenius: Float[np.ndarray, " layers"]
    moved: Float[np.ndarray, " layers"]
    moved_frobenius: Float[np.ndarray, " layers"]


def class_margins(
    scores: Num[Array | np.ndarray, "n k"], labels: Int[Array | np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """f_y − max_{j≠y} f_j, positive where the row is classified correctly.

    >>> class_margins(np.array([[3.0, 1.0, 2.0]]), np.array([2])).tolist()
    [-1.0]
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels)
    if scores.shape[1] < 2:
        raise ValueError("A margin needs the scores of two classes or more; give one column per class.")
    rows = np.arange(len(labels))
    others = scores.copy()
    others[rows, labels] = -np.inf
    return scores[rows, labels] - others.max(axis=1)


def ramp_loss(margins: Num[np.ndarray, " n"], gamma: float) -> float:
    """The mean of min(1, max(0, 1 − m/γ)): above the error, below the share of margins smaller than γ.

    >>> ramp_loss(np.array([-1.0, 0.5, 2.0]), 1.0)
    0.5
    """
    if not gamma > 0:
        raise ValueError(f"The margin γ is {gamma}; give a positive number.")
    return float(np.clip(1 - np.asarray(margins, float) / gamma, 0.0, 1.0).mean())


def fold_biases(weights: Sequence[Matrix], biases: Sequence[Num[np.ndarray, " _"] | None]) -> tuple[Matrix, ...]:
    """The same chain without biases, for inputs (x, 1): every matrix becomes [[W, b], [0, 1]], the last one [W, b].

    The unit that carries the 1 is passed on unchanged, so activations act on all units but this (ReLU on it too).

    >>> [m.tolist() for m in fold_biases([np.array([[2.0]]), np.array([[3.0]])], [np.array([1.0]), np.array([5.0])])]
    [[[2.0, 1.0], [0.0, 1.0]], [[3.0, 5.0]]]
    """
    folded = []
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        weight = np.asarray(weight, float)
        column = np.zeros(len(weight)) if bias is None else np.asarray(bias, float)
        matrix = np.column_stack([weight, column])
        if index < len(weights) - 1:
            matrix = np.vstack([matrix, np.eye(1, matrix.shape[1], matrix.shape[1] - 1)])
        folded.append(matrix)
    return tuple(folded)


def layer_norms(matrices: Sequence[Matrix], references: Sequence[Matrix] | None = None) -> LayerNorms:
    """The norms of a chain of matrices A_l (units out × units in), Σ_rows ‖A_l − M_l‖ against references M_l (or 0).

    >>> norms = layer_norms([np.array([[3.0, 4.0], [0.0, 0.0]])])
    >>> norms.spectral.tolist(), norms.moved.tolist()
    ([5.0], [5.0])
    """
    references = [np.zeros_like(m) for m in matrices] if references is None else references
    moved = [np.asarray(a, float) - np.asarray(m, float) for a, m in zip(matrices, references, strict=True)]
    return LayerNorms(
        np.array([spectral_norm(np.asarray(a, float)) for a in matrices]),
        np.array([np.linalg.norm(a) for a in matrices]),
        np.array([np.linalg.norm(d, axis=1).sum() for d in moved]),
        np.array([np.linalg.norm(d) for d in moved]),
    )


def path_norms(matrices: Sequence[Matrix]) -> Float[np.ndarray, " outputs"]:
    """Σ over all paths to each output of the product of |weights|: |A_L| ··· |A_1| 1 (Neyshabur et al. 2015).

    >>> path_norms([np.array([[1.0, -2.0]]), np.array([[3.0], [-1.0]])]).tolist()
    [9.0, 3.0]
    """
    reach = np.ones(np.shape(matrices[0])[1])
    for matrix in matrices:
        reach = np.abs(np.asarray(matrix, float)) @ reach
    return reach


def spectral_complexity(
    norms: LayerNorms, lipschitz: Sequence[float] | Float[np.ndarray, " layers"] | None = None
) -> float:
    """∏ ρ_l s_l · (Σ (b_l/s_l)^{2/3})^{3/2}, s the spectral and b the `moved` norms (Bartlett, Foster, Telgarsky 2017).

    `lipschitz` are the constants ρ of the activations, 1 unless given.

    >>> spectral_complexity(layer_norms([np.eye(1), np.array([[2.0]])])).__round__(4)
    5.6569
    """
    rho = np.ones(len(norms.spectral)) if lipschitz is None else np.asarray(lipschitz, float)
    if not norms.spectral.min() > 0:
        return 0.0
    return float(np.prod(rho * norms.spectral) * np.sum((norms.moved / norms.spectral) ** (2 / 3)) ** 1.5)
