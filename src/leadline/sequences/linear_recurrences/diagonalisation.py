"""A linear recurrence in the coordinates of its eigenvectors, and matrices that nearly have too few of them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Complex, Float, Num


class Diagonalisation(NamedTuple):
    """A = P Λ P⁻¹: the eigenvalues, their eigenvectors in the columns of P, of length 1, and P⁻¹B."""

    eigenvalues: Complex[np.ndarray, " m"]
    basis: Complex[np.ndarray, "m m"]
    inputs: Complex[np.ndarray, "m n"]

    @property
    def condition(self) -> float:
        """cond₂(P), by which rounding errors of the modes are amplified on the way back to the state."""
        return float(np.linalg.cond(self.basis))

    @property
    def gap(self) -> float:
        """The least distance of two eigenvalues."""
        return float(eigenvalue_gaps(self.eigenvalues[None])[0])


def diagonalise(
    matrix: Num[Array | np.ndarray, "m m"], inputs: Num[Array | np.ndarray, "m n"] | None = None
) -> Diagonalisation:
    """Modes of z_{t+1} = A z_t + B x_t: ζ_{t+1} = Λ ζ_t + P⁻¹B x_t with z = Pζ, m products a step in place of m².

    A matrix whose eigenvectors do not span the space in floating point has none, and ValueError says so.

    >>> modes = diagonalise(np.array([[0.0, 1.0], [-0.25, 0.0]]), np.eye(2))
    >>> sorted(modes.eigenvalues.imag.round(3).tolist()), round(modes.condition, 3)
    ([-0.5, 0.5], 2.0)
    """
    a = np.asarray(matrix)
    eigenvalues, basis = np.linalg.eig(a)
    condition = np.linalg.cond(basis)
    if not condition < 1 / np.finfo(basis.dtype).eps:
        raise ValueError(
            f"The matrix has no basis of eigenvectors to working precision (their condition is {condition:.3g}); "
            "compute the recurrence by the loop or by the scan of matrices."
        )
    b = np.eye(len(a)) if inputs is None else np.asarray(inputs)
    kind = np.result_type(eigenvalues.dtype, np.complex64)
    return Diagonalisation(eigenvalues.astype(kind), basis.astype(kind), np.linalg.solve(basis, b).astype(kind))


def eigenvalue_gaps(eigenvalues: Complex[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
    """min_{i<j} |λ_i - λ_j| of each row.

    >>> eigenvalue_gaps(np.array([[1.0, 1j, 3.0]], complex)).round(3).tolist()
    [1.414]
    """
    apart = np.abs(eigenvalues[:, :, None] - eigenvalues[:, None, :])
    m = eigenvalues.shape[1]
    return np.where(np.eye(m, dtype=bool), np.inf, apart).min((1, 2))


def perturbed_jordan_block(size: int, corner: float, eigenvalue: float = 0.0) -> Float[np.ndarray, "m m"]:
    """A Jordan block of size m with ε in its lower left corner.

    Its eigenvalues lie at λ + ε^{1/m} e^{2πik/m}, on a circle; its eigenvectors have the condition ε^{-(1 - 1/m)}: for
    ε = 0 there is one eigenvector alone.

    >>> perturbed_jordan_block(2, 0.25).tolist(), np.linalg.eigvals(perturbed_jordan_block(2, 0.25)).round(12).tolist()
    ([[0.0, 1.0], [0.25, 0.0]], [0.5, -0.5])
    """
    if size < 2 or corner < 0:
        raise ValueError(f"A block of size {size} with the corner {corner:g}: give a size of 2 or more and ε ≥ 0.")
    block = eigenvalue * np.eye(size) + np.eye(size, k=1)
    block[-1, 0] += corner
    return block
