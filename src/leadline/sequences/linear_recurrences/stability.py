"""Which linear recurrences stay bounded, how long they remember, and how far they grow before they decay."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Array, Bool, Complex, Float, Num


class RecurrenceStability(NamedTuple):
    """What the eigenvalues of A say about z_{t+1} = A z_t + B x_t."""

    eigenvalues: Complex[np.ndarray, " m"]
    reached: Bool[np.ndarray, " m"]  #: whether the input moves this mode
    free_response_bounded: bool  #: |λ| ≤ 1 for all modes, and those with |λ| = 1 have all their eigenvectors
    input_response_bounded: bool  #: |λ| < 1 for every mode that the input reaches
    horizons: Float[np.ndarray, " m"]  #: 1 / (-ln |λ|) steps until a mode has decayed by e; infinite from |λ| = 1 on

    @property
    def spectral_radius(self) -> float:
        """max |λ|."""
        return float(np.abs(self.eigenvalues).max())


def recurrence_stability(
    transition: Num[Array | np.ndarray, "m m"],
    inputs: Num[Array | np.ndarray, "k n"] | None = None,
    *,
    tolerance: float = 1e-7,
) -> RecurrenceStability:
    """Whether z_{t+1} = A z_t + B x_t stays bounded, without inputs and for every bounded input.

    Without inputs the state stays bounded iff |λ_i| ≤ 1 and the eigenvalues of modulus 1 are semisimple (as many
    eigenvectors as their multiplicity); bounded inputs keep it bounded iff |λ_i| < 1 for the modes that they reach,
    which are the eigenvalues of A on the span of B, AB, A²B, … (Kalman's reachable subspace). Moduli within `tolerance`
    of 1 count as 1, eigenvalues within √tolerance of one another as one.

    >>> report = recurrence_stability(np.diag([0.5, 1.0]), np.array([[1.0], [0.0]]))
    >>> report.free_response_bounded, report.input_response_bounded, report.horizons.round(2).tolist()
    (True, True, [1.44, inf])
    >>> recurrence_stability(np.array([[1.0, 1.0], [0.0, 1.0]])).free_response_bounded
    False
    """
    a = np.asarray(transition)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isfinite(a).all():
        raise ValueError(f"The transition has shape {a.shape}; give a square matrix of finite numbers.")
    b = np.eye(len(a)) if inputs is None else np.asarray(inputs)
    if b.ndim != 2 or len(b) != len(a):
        raise ValueError(f"The inputs enter by a matrix of shape {b.shape}; give one with {len(a)} rows.")
    eigenvalues = np.asarray(np.linalg.eigvals(a), complex)
    moduli = np.abs(eigenvalues)
    unit = np.abs(moduli - 1) <= tolerance
    driven = _reached_eigenvalues(a, b, tolerance)
    reached = np.array([bool((np.abs(driven - value) <= np.sqrt(tolerance)).any()) for value in eigenvalues])
    semisimple = all(_semisimple(a, value, eigenvalues, tolerance) for value in eigenvalues[unit])
    with np.errstate(divide="ignore"):
        horizons = np.where(moduli < 1 - tolerance, -1 / np.log(np.where(moduli == 1, 0.5, moduli)), np.inf)
    return RecurrenceStability(
        eigenvalues,
        reached,
        bool((moduli <= 1 + tolerance).all() and semisimple),
        bool((moduli[reached] < 1 - tolerance).all()),
        np.where(moduli == 0, 0.0, horizons),
    )


def power_norms(transition: Num[Array | np.ndarray, "m m"], num_steps: int) -> Float[np.ndarray, " t"]:
    """‖A^k‖₂ for k = 0, …, `num_steps`: a matrix that is not normal may grow first and decay later.

    >>> power_norms(np.array([[0.5, 4.0], [0.0, 0.5]]), 3).round(2).tolist()
    [1.0, 4.06, 4.02, 3.01]
    """
    a = np.asarray(transition)
    power, norms = np.eye(len(a), dtype=a.dtype), []
    for _ in range(num_steps + 1):
        norms.append(np.linalg.norm(power, 2))
        power = a @ power
    return np.array(norms)


def _reached_eigenvalues(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """The eigenvalues of A on the reachable subspace, whose basis is grown from B by products with A."""
    basis, new = np.zeros((len(a), 0)), b
    while new.shape[1]:
        scale = np.abs(new).max(initial=0.0)
        new = new - basis @ (basis.conj().T @ new)
        new = new - basis @ (basis.conj().T @ new)  # twice: rounding leaves a little of it
        left, values, _ = np.linalg.svd(new, full_matrices=False)
        fresh = left[:, values > tolerance * max(scale, np.finfo(float).tiny)]
        basis, new = np.concatenate([basis, fresh], axis=1), a @ fresh
    return np.asarray(np.linalg.eigvals(basis.conj().T @ a @ basis), complex)


def _semisimple(a: np.ndarray, eigenvalue: complex, eigenvalues: np.ndarray, tolerance: float) -> bool:
    multiplicity = np.count_nonzero(np.abs(eigenvalues - eigenvalue) <= np.sqrt(tolerance))
    values = scipy.linalg.svdvals(a - eigenvalue * np.eye(len(a)))
    return bool(np.count_nonzero(values <= np.sqrt(tolerance) * max(values[0], 1.0)) >= multiplicity)
