"""Least squares on tangent features: the solution of least norm, and the span that descent never leaves."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require_numbers

Matrix = Float[Array | np.ndarray, "n p"]


class TangentFit(NamedTuple):
    """β* = Jᵀ K⁺ r of least norm, its squared norm rᵀ K⁺ r, the rank of J, and what of r no β reaches."""

    beta: Float[np.ndarray, " p"]
    squared_norm: float
    rank: int
    unreached: Float[np.ndarray, " n"]


def tangent_fit(
    jacobian: Matrix, residual: Float[Array | np.ndarray, " _"], *, dual: bool = True, rtol: float | None = None
) -> TangentFit:
    """argmin ½‖Jβ - r‖² of least norm, for r = y - f₀: the limit of descent from β = 0 on the linearised network.

    Unique only in norm when there are more parameters than data. `dual` takes the eigenvalues of K = J Jᵀ (n x n, which
    squares the condition number), otherwise the singular values of J. Eigenvalues (singular values) of at most
    `rtol` times the largest count as 0; by default the size of the matrix times the machine's precision.

    >>> fit = tangent_fit(np.array([[1.0, 1.0, 0.0]]), np.array([2.0]))
    >>> fit.beta.round(9).tolist(), round(fit.squared_norm, 9), fit.rank
    ([1.0, 1.0, 0.0], 2.0, 1)
    """
    require_numbers("tangent_fit", jacobian=jacobian, residual=residual)
    J, r = _checked(jacobian, residual, "residual", axis=0)
    if dual:
        lam, U = np.linalg.eigh(J @ J.T)
        kept = lam > (len(J) * np.finfo(lam.dtype).eps if rtol is None else rtol) * lam[-1]
        c = np.where(kept, U.T @ r / np.where(kept, lam, 1.0), 0.0)
        beta, squared = J.T @ (U @ c), float(np.sum(lam[kept] * c[kept] ** 2))
    else:
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        kept = s > (max(J.shape) * np.finfo(s.dtype).eps if rtol is None else rtol) * s[0]
        c = np.where(kept, U.T @ r / np.where(kept, s, 1.0), 0.0)
        beta, squared = Vt.T @ c, float(c @ c)
    return TangentFit(beta, squared, int(kept.sum()), r - U[:, kept] @ (U[:, kept].T @ r))


def off_span(
    jacobian: Matrix, beta: Float[Array | np.ndarray, "*batch _"], *, rtol: float | None = None
) -> Float[np.ndarray, "*batch _"]:
    """β minus its projection on span{∇f(xᵢ)}, the row space of J: the part that moves no output on the data.

    >>> off_span(np.array([[1.0, 1.0]]), np.array([3.0, 1.0])).round(9).tolist()
    [1.0, -1.0]
    """
    J, beta = _checked(jacobian, beta, "beta", axis=1)
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    basis = Vt[s > (max(J.shape) * np.finfo(s.dtype).eps if rtol is None else rtol) * s[0]]
    inside = (beta @ basis.T) @ basis
    return beta - inside - ((beta - inside) @ basis.T) @ basis  # twice, against cancellation


def _checked(jacobian: Matrix, vector: Array | np.ndarray, name: str, axis: int) -> tuple[np.ndarray, np.ndarray]:
    J, v = np.asarray(jacobian), np.asarray(vector)
    if J.ndim != 2 or not J.size or v.ndim == 0 or v.shape[-1] != J.shape[axis]:
        raise ValueError(
            f"A Jacobian of shape {J.shape} and a {name} of shape {v.shape} do not match; give (n, P) with one row for "
            f"each output, and a {name} of length {'n' if axis == 0 else 'P'}."
        )
    return J, v
