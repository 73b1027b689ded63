"""Projections: onto a column space at right angles, or along another space."""

import numpy as np
from jaxtyping import Float

Matrix = Float[np.ndarray, "d p"]
Square = Float[np.ndarray, "d d"]


def orthogonal_projector(matrix: Matrix) -> Square:
    """P = M(MᵀM)⁻¹Mᵀ = QQᵀ onto the columns of M, by the thin QR decomposition M = QR; needs full column rank.

    >>> orthogonal_projector(np.array([[1.0], [1.0]])).round(6).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    _check_columns(matrix, "orthogonal_projector")
    q, _ = np.linalg.qr(matrix)
    return q @ q.T


def oblique_projector(onto: Matrix, normal: Matrix) -> Square:
    """P = M(NᵀM)⁻¹Nᵀ: onto the columns of M, along the vectors at right angles to the columns of N.

    P² = P always; P = Pᵀ only where M and N span the same space.

    >>> oblique_projector(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if onto.shape != normal.shape:
        raise ValueError(
            f"oblique_projector got M of shape {onto.shape} and N of shape {normal.shape}; give two of one shape."
        )
    _check_columns(onto, "oblique_projector")
    angles = normal.T @ onto
    if np.linalg.matrix_rank(angles) < len(angles):
        raise ValueError(
            "oblique_projector got an N whose complement meets the columns of M; choose N with NᵀM invertible."
        )
    return onto @ np.linalg.solve(angles, normal.T)


def _check_columns(matrix: np.ndarray, name: str) -> None:
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{name} got a matrix with entries that are not finite; give finite numbers.")
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < matrix.shape[1]:
        raise ValueError(
            f"{name} got {matrix.shape[1]} columns of rank {rank}; give independent columns (drop the dependent ones)."
        )
