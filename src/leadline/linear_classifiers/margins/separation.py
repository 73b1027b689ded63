"""Deciding linear separability by one linear programme, with a proof for either answer."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real
from scipy.optimize import linprog

from .labelled import signed_sample


class Separation(NamedTuple):
    """The verdict of `separate`, with the evidence for it.

    A positive verdict is proved by `weights` and `bias`: their smallest score `margin` exceeds `tolerance`, which
    bounds the rounding error of the scores. Any verdict is bounded by `multipliers`: no classifier in the box has a
    smallest score above `residual`, so a residual of rounding size proves that the data cannot be separated.
    """

    separable: bool
    margin: float  # t*, the largest smallest score within the box; 0 if not separable
    weights: Float[np.ndarray, " d"]
    bias: float
    multipliers: Float[np.ndarray, " n"]  # λ ≥ 0, Σλ = 1
    tolerance: float
    residual: float  # ‖Σᵢ λᵢ yᵢ (xᵢ, 1)‖₁ ≥ t*


def separate(x: Real[Array | np.ndarray, "n d"], y: Real[Array | np.ndarray, " n"], *, bias: bool = True) -> Separation:
    """Decide whether some (w, b) gives every example a positive score yᵢ(w·xᵢ + b).

    Solves  t* = max t  subject to  yᵢ(w·xᵢ + b) ≥ t,  |wⱼ| ≤ 1, |b| ≤ 1  (b = 0 with `bias=False`); the data are
    separable iff t* > 0. The dual is  t* = min ‖Σ λᵢ yᵢ (xᵢ, 1)‖₁  over λ ≥ 0, Σλ = 1, so λ proves inseparability
    when the sum vanishes (Gordan's theorem). Solved by HiGHS in float64, whatever the dtype of the data.

    >>> import numpy as np
    >>> corners = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> xor = separate(corners, np.array([1, 1, -1, -1]))
    >>> xor.separable, xor.multipliers.round(3).tolist()
    (False, [0.25, 0.25, 0.25, 0.25])
    >>> separate(corners, np.array([1, -1, -1, -1])).separable
    True
    """
    points, labels = signed_sample(x, y)
    n, d = points.shape
    columns = np.hstack([points, np.ones((n, 1))]) if bias else points
    # Columns are scaled to largest entry 1, and the box so that its shortest side is 1: the solver's absolute
    # tolerances then mean the same for pixels in [0, 1] and for incomes in the millions.
    size = np.abs(columns).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    unit = size.min()
    signed = labels[:, None] * columns
    programme = linprog(
        c=np.append(np.zeros(size.shape[0]), -1.0),
        A_ub=np.hstack([-signed / size, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        bounds=[(-side, side) for side in size / unit] + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the separability programme: {programme.message}")
    parameters = programme.x[:-1] * unit / size
    scores = signed @ parameters
    # The standard bound for the rounding error of a dot product of d + 1 terms, taken at these parameters.
    tolerance = float((d + 2) * np.finfo(float).eps * (np.abs(signed) @ np.abs(parameters)).max())
    separable = bool(scores.min() > tolerance)
    multipliers = np.maximum(-programme.ineqlin.marginals, 0.0)
    multipliers = multipliers / multipliers.sum()
    return Separation(
        separable=separable,
        margin=float(scores.min()) if separable else 0.0,
        weights=parameters[:d],
        bias=float(parameters[d]) if bias else 0.0,
        multipliers=multipliers,
        tolerance=tolerance,
        residual=float(np.abs(multipliers @ signed).sum()),
    )
