"""Is a matrix a Gram matrix? Its least eigenvalue against rounding, and what to do when it is negative."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require

Square = Float[Array | np.ndarray, "n n"]


class Spectrum(NamedTuple):
    """The eigenvalues of a symmetric matrix, rising, and how negative rounding alone can make the least of them."""

    eigenvalues: Float[np.ndarray, " n"]
    rounding: float

    @property
    def least(self) -> float:
        return float(self.eigenvalues[0])

    @property
    def is_positive(self) -> bool:
        """No eigenvalue is negative beyond rounding."""
        return self.least >= -self.rounding


def rounding_of(matrix: Square) -> float:
    """8 n max|G| ε: entries that are right to a few units in the last place move no eigenvalue by more."""
    matrix = np.asarray(matrix)
    return float(8 * len(matrix) * np.abs(matrix).max() * np.finfo(matrix.dtype).eps)


def spectrum(matrix: Square) -> Spectrum:
    """The spectrum of a symmetric matrix.

    >>> spectrum(np.array([[1.0, 1.0], [1.0, 0.0]])).least.__round__(6)
    -0.618034
    """
    matrix = _symmetric(matrix)
    return Spectrum(np.linalg.eigvalsh(matrix), rounding_of(matrix))


def check_positive(matrix: Square) -> Spectrum:
    """The spectrum of a Gram matrix; ValueError, with the eigenvalue and the ways out, where it is not one.

    >>> check_positive(np.eye(2)).is_positive
    True
    """
    found = spectrum(matrix)
    if not found.is_positive:
        negative = int((found.eigenvalues < -found.rounding).sum())
        raise ValueError(
            f"The matrix is not a Gram matrix of a kernel: {negative} of its {len(found.eigenvalues)} eigenvalues are "
            f"negative, the least is {found.least:.6g} (rounding explains {-found.rounding:.1g}); use a kernel, or "
            f"repair it with kernels.nearest_kernel (negative eigenvalues to 0) or kernels.shifted_kernel "
            f"({-found.least:.6g} added to the diagonal)."
        )
    return found


def nearest_kernel(matrix: Square) -> Float[np.ndarray, "n n"]:
    """The nearest positive semidefinite matrix in Frobenius norm: negative eigenvalues set to 0 (Higham 1988).

    >>> nearest_kernel(np.diag([1.0, -2.0])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    eigenvalues, vectors = np.linalg.eigh(_symmetric(matrix))
    clipped = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
    return (clipped + clipped.T) / 2


def shifted_kernel(matrix: Square) -> Float[np.ndarray, "n n"]:
    """G + max(0, -λ_min) I: positive semidefinite, every similarity of two different points as it was.

    >>> shifted_kernel(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    matrix = _symmetric(matrix)
    return matrix + max(0.0, -float(np.linalg.eigvalsh(matrix)[0])) * np.eye(len(matrix), dtype=matrix.dtype)


def centre_gram(matrix: Square) -> Float[np.ndarray, "n n"]:
    """H G H with H = I - 11ᵀ/n: the Gram matrix of the features minus their mean.

    >>> centre_gram(np.array([[0.0, 0.0], [0.0, 4.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    require("centre_gram", axes=2, matrix=matrix)
    matrix = np.asarray(matrix)
    return matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()


def least_jitter(matrix: Square) -> float:
    """The least of 0, r, 4r, 16r, ..., r = max|G| ε, which added to the diagonal lets a Cholesky factorisation succeed.

    >>> least_jitter(np.eye(3)), 0 < least_jitter(np.ones((3, 3))) < 1e-6
    (0.0, True)
    """
    matrix = check_positive(matrix) and np.asarray(matrix)
    step = float(np.abs(matrix).max() * np.finfo(matrix.dtype).eps)
    for jitter in (0.0, *(step * 4.0**k for k in range(60))):
        try:
            np.linalg.cholesky(matrix + jitter * np.eye(len(matrix), dtype=matrix.dtype))
        except np.linalg.LinAlgError:
            continue
        return jitter
    raise ValueError("No jitter lets the Cholesky factorisation succeed; look for entries that are not finite.")


def _symmetric(matrix: Square) -> Float[np.ndarray, "n n"]:
    matrix = np.asarray(matrix)
    if not np.isfinite(matrix).all():
        raise ValueError(
            "The matrix has entries that are not finite; look at the inputs of the kernel for NaN and inf."
        )
    gap = float(np.abs(matrix - matrix.T).max())
    if gap > rounding_of(matrix):
        i, j = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
        raise ValueError(
            f"The matrix is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by {gap:.6g}; a kernel has "
            "k(x, z) = k(z, x), so symmetrise the similarity, for instance as (k(x, z) + k(z, x))/2."
        )
    return (matrix + matrix.T) / 2
