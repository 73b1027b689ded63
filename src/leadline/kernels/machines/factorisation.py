"""Cholesky factors of Gram matrices, with what can go wrong said in numbers."""

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

LOST = 1e-3  # in single precision, a relative error above this is worth a warning


class Factor(NamedTuple):
    """K + shift·I = LLᵀ, with an estimate of its condition number in the 1-norm."""

    lower: Float[np.ndarray, "n n"]
    shift: float
    condition: float

    def solve(self, y: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
        """(K + shift·I)⁻¹ y."""
        from scipy.linalg import cho_solve

        return cho_solve((self.lower, True), y, check_finite=False)

    def whiten(self, y: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
        """L⁻¹ y."""
        from scipy.linalg import solve_triangular

        return solve_triangular(self.lower, y, lower=True, check_finite=False)

    def inverse_diagonal(self) -> Float[np.ndarray, " n"]:
        """The diagonal of (K + shift·I)⁻¹."""
        from scipy.linalg.lapack import dpotri, spotri

        inverse, info = (dpotri if self.lower.dtype == np.float64 else spotri)(self.lower, lower=1)
        assert info == 0
        return np.diag(inverse).copy()

    def log_determinant(self) -> float:
        """log det(K + shift·I)."""
        return float(2 * np.sum(np.log(np.diag(self.lower))))


def factorise(K: Float[Array | np.ndarray, "n columns"], shift: float = 0.0) -> Factor:
    """The Cholesky factor of K + shift·I, in the precision of K, on the host.

    A matrix that is not positive definite raises ValueError with the eigenvalue in the way and what to do. In single
    precision a warning tells how many digits the condition number costs.

    >>> factorise(np.array([[2.0, 0.0], [0.0, 7.0]]), shift=2.0).lower.tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.lapack import dpocon, spocon

    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(f"A Gram matrix got the shape {K.shape}; give a square matrix with at least one row.")
    if K.dtype not in (np.float32, np.float64):
        K = K.astype(float)
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"The Gram matrix has {K[i, j]} at ({i}, {j}); remove or repair inputs {i} and {j}.")
    if not (np.isfinite(shift) and shift >= 0):
        raise ValueError(f"The Gram matrix got the diagonal shift {shift}; give a finite number of at least 0.")
    A = K.copy(order="F")
    A.ravel(order="K")[:: len(K) + 1] += K.dtype.type(shift)
    size = np.abs(A).sum(axis=0).max()
    try:
        lower = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ValueError(_why_not_definite(K, shift)) from None
    reciprocal, _ = (dpocon if K.dtype == np.float64 else spocon)(lower, size, uplo="L")
    condition = float(1 / reciprocal) if reciprocal > 0 else float("inf")
    loss = condition * float(np.finfo(K.dtype).eps)
    if K.dtype == np.float32 and loss > LOST:
        warnings.warn(
            f"The Gram matrix is in single precision and has the condition number {condition:.2g}: relative errors up "
            f"to {loss:.1g} are to be expected; use 64-bit (jax_enable_x64) or a larger penalty.",
            stacklevel=3,
        )
    return Factor(lower, float(shift), condition)


def _why_not_definite(K: np.ndarray, shift: float) -> str:
    values = np.linalg.eigvalsh((K + K.T) / 2)
    smallest, largest = float(values[0]), float(values[-1])
    rounding = len(K) * float(np.finfo(K.dtype).eps) * max(abs(largest), abs(smallest))
    where = f"Eigenvalue 1 of {len(K)} of the Gram matrix is {smallest:.6g} (the largest is {largest:.6g})"
    if smallest < -10 * rounding:
        return (
            f"{where}, so the function is not a kernel on these points; use a positive definite kernel, clip the "
            f"negative eigenvalues, or give a diagonal shift (n·gamma, noise variance) above {-smallest:.3g} instead "
            f"of {shift:.3g}."
        )
    return (
        f"{where}, zero to rounding, and the diagonal shift {shift:.3g} does not lift it; remove repeated points or "
        f"give a shift (n·gamma, noise variance) of at least {10 * rounding:.1g}."
    )
