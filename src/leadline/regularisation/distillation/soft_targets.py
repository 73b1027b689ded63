"""Targets that are distributions: a label replaced by a column of a matrix, such as who is confused with whom."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from leadline._checks import require

Matrix = Real[Array | np.ndarray, "_ _"]


def soft_targets(labels: Int[Array | np.ndarray, " n"], matrix: Matrix) -> Float[Array, "n m"]:
    """Π e_y, row by row: column y of a column-stochastic matrix Π takes the place of the label y.

    Π = (1 - ε) I + (ε/m) 11ᵀ is uniform label smoothing (`learning.smooth_labels` with convention "all"). With
    Π_{ky} = P(true class k | given label y) the targets are what a noisy label says about the class.

    >>> soft_targets(jnp.array([1, 0]), jnp.array([[1.0, 0.25], [0.0, 0.75]])).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    require("soft_targets", axes=2, matrix=matrix)
    values, y = np.asarray(matrix, float), np.asarray(labels)
    if values.shape[0] != values.shape[1] or (values < 0).any() or np.abs(values.sum(axis=0) - 1).max() > 1e-6:
        raise ValueError(
            f"soft_targets got a matrix of shape {values.shape} whose columns sum to {values.sum(axis=0).min():.4g} to "
            f"{values.sum(axis=0).max():.4g}; give a square one of probabilities whose columns sum to 1."
        )
    if y.ndim != 1 or y.dtype.kind not in "iu" or (y.size and not 0 <= y.min() <= y.max() < len(values)):
        raise ValueError(f"soft_targets needs one label from 0 to {len(values) - 1} for each row, as whole numbers.")
    return jnp.asarray(matrix)[:, y].T


def label_posterior(
    given: Int[Array | np.ndarray, " n"], true: Int[Array | np.ndarray, " n"], classes: int
) -> Float[np.ndarray, "m m"]:
    """Π_{ky} = P(true class k | given label y), estimated from rows of which both are known, with 1/m added to each.

    >>> label_posterior(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 2).round(4).tolist()
    [[0.8333, 0.5], [0.1667, 0.5]]
    """
    from leadline.learning import confusion_matrix

    counts = confusion_matrix(np.asarray(true), np.asarray(given), classes) + 1 / classes
    return counts / counts.sum(axis=0)
