"""What the last state of a diagonal recurrence still knows of its inputs: all of them, up to conditioning."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Complex, Inexact, Num


class RecoveredWindow(NamedTuple):
    """The inputs that a state determines, and the condition number of the system they solve."""

    inputs: Inexact[np.ndarray, " t"]
    condition: float


def window_matrix(
    eigenvalues: Num[Array | np.ndarray, " m"], length: int, weights: Num[Array | np.ndarray, " m"] | None = None
) -> Complex[np.ndarray, "m t"]:
    """V with ζ_T = V x, V_it = w_i λ_i^{T-t}: of ζ_t = λ ⊙ ζ_{t-1} + w x_t from ζ_0 = 0, a Vandermonde matrix.

    It has the rank min(m, T) for distinct eigenvalues and weights that are not 0: with m ≥ T the last state determines
    the window x_1, …, x_T.

    >>> window_matrix(np.array([0.5, 2.0]), 3).real.tolist()
    [[0.25, 0.5, 1.0], [4.0, 2.0, 1.0]]
    """
    if length < 1:
        raise ValueError(f"A window of {length} inputs; give 1 or more.")
    values = np.asarray(eigenvalues, complex)
    scale = np.ones(len(values)) if weights is None else np.asarray(weights)
    return scale[:, None] * values[:, None] ** np.arange(length - 1, -1, -1)


def recover_window(
    eigenvalues: Num[Array | np.ndarray, " m"],
    state: Num[Array | np.ndarray, " k"],
    length: int,
    weights: Num[Array | np.ndarray, " m"] | None = None,
) -> RecoveredWindow:
    """The real inputs x_1, …, x_T that led from ζ_0 = 0 to this state: those of least squares.

    With m ≥ T distinct eigenvalues they are the only ones (Orvieto et al. 2023); how well they can be had in floating
    point says the condition number: 1 for the T-th roots of unity, r^{-(T-1)} for r times these, hopeless for real
    eigenvalues.

    >>> turns = np.exp(2j * np.pi * np.arange(3) / 3)
    >>> found = recover_window(turns, window_matrix(turns, 3) @ [1.0, -2.0, 3.0], 3)
    >>> found.inputs.round(12).tolist(), round(found.condition, 6)
    ([1.0, -2.0, 3.0], 1.0)
    """
    matrix, target = window_matrix(eigenvalues, length, weights), np.asarray(state, complex)
    if target.shape != (len(matrix),):
        raise ValueError(f"The state has shape {target.shape} for {len(matrix)} eigenvalues; give one number for each.")
    both = [np.concatenate([np.real(part), np.imag(part)]) for part in (matrix, target)]
    return RecoveredWindow(np.linalg.lstsq(*both, rcond=None)[0], float(np.linalg.cond(matrix)))
