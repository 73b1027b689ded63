"""Which labelings of a point set are linear dichotomies: many linear programmes, solved together."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Array, Bool, Float, Real
from scipy.optimize import linprog

THINNEST = 1e-9  # a cell whose best witness scores less than this on unit-length points counts as empty
ENTRIES = 20_000  # matrix entries per call of the solver: from about here on a larger stack costs more than it saves


class Realisation(NamedTuple):
    """For each labeling whether a hyperplane realises it, with the witness that the programme ended on."""

    possible: Bool[np.ndarray, " m"]
    weights: Float[np.ndarray, "m d"]  # largest smallest score within |wⱼ| ≤ 1; only a witness where possible
    margins: Float[np.ndarray, " m"]  # min over i of yᵢ w·xᵢ/‖xᵢ‖


def all_labelings(n: int) -> Float[np.ndarray, "labelings n"]:
    """All 2ⁿ vectors of signs, in binary order; labeling k gives point i the sign + iff bit i of k is set.

    >>> all_labelings(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    if not 1 <= n <= 22:
        raise ValueError(f"n = {n} points have 2**{n} labelings; expected 1 ≤ n ≤ 22, use enumerate_cells above.")
    return 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0


def realise(x: Real[Array | np.ndarray, "n d"], labelings: Real[Array | np.ndarray, "m n"]) -> Realisation:
    """Decide for every row y of `labelings` whether some w has yᵢ w·xᵢ > 0 for all i (append a 1 to x for a bias).

    One programme per labeling, max t subject to yᵢ w·xᵢ/‖xᵢ‖ ≥ t and |wⱼ| ≤ 1, but some hundred of them are stacked
    into one block-diagonal programme: HiGHS then takes 0.1 ms for a small one, where a call of its own takes 2 ms.
    Possible means that the smallest score, recomputed from w, exceeds 1e-9.

    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> realise(x, np.array([[1, 1, 1], [1, 1, -1]])).possible.tolist()
    [True, False]
    """
    points, signs = unit_points(x), np.asarray(labelings, dtype=float)
    if signs.ndim != 2 or signs.shape[1] != points.shape[0]:
        raise ValueError(
            f"labelings has shape {signs.shape}; expected (m, {points.shape[0]}): one sign per point in each row."
        )
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise ValueError("labelings must contain only -1 and +1; map 0/1 tables by y = 2t - 1.")
    weights = np.zeros((len(signs), points.shape[1]))
    stack = int(np.clip(ENTRIES // (points.size + len(points)), 4, 200))
    for start in range(0, len(signs), stack):
        weights[start : start + stack] = _witnesses(points, signs[start : start + stack])
    margins = np.min(signs * (weights @ points.T), axis=1)
    return Realisation(possible=margins > THINNEST, weights=weights, margins=margins)


def unit_points(x) -> np.ndarray:
    """The rows of x scaled to length 1, which changes no dichotomy; a zero row stays zero."""
    points = np.asarray(x, dtype=float)
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"x has shape {points.shape}; expected (n, d) with n, d ≥ 1: one point per row.")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"x contains NaN or infinity, first in row {row}; remove such points.")
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(length > 0, length, 1.0)


def with_bias(x, bias: bool) -> np.ndarray:
    """The rows of x as (x, 1) where a bias is wanted, which counts as one more dimension."""
    points = np.asarray(x, dtype=float)
    return np.column_stack([points, np.ones(len(points))]) if bias else points


def _witnesses(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    (m, n), d = signs.shape, points.shape[1]
    blocks = np.concatenate([-signs[:, :, None] * points, np.ones((m, n, 1))], axis=2)  # (m, n, d + 1): w, then t
    column = np.broadcast_to(np.arange(m * (d + 1)).reshape(m, 1, d + 1), (m, n, d + 1))
    row_starts = np.arange(m * n + 1) * (d + 1)
    stacked = scipy.sparse.csr_array((blocks.ravel(), column.ravel(), row_starts), shape=(m * n, m * (d + 1)))
    side = np.tile(np.append(np.ones(d), np.inf), m)
    programme = linprog(
        c=np.tile(np.append(np.zeros(d), -1.0), m),
        A_ub=stacked,
        b_ub=np.zeros(m * n),
        bounds=np.stack([-side, side], axis=1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the stacked separability programmes: {programme.message}")
    return programme.x.reshape(m, d + 1)[:, :d]
