"""Hyper-ribbons: how thin a model manifold is in the direction of one datum when others are held fixed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Features = Float[np.ndarray, "n p"]


@dataclass(frozen=True)
class SliceWidths:
    """Widths in the order in which data were fixed (the widest remaining one next), and the indices of these data."""

    widths: Float[np.ndarray, " k"]
    order: tuple[int, ...]


def ball_widths(jacobian: Features, radius: float = 1.0) -> SliceWidths:
    """Widths 2R|rₖₖ| of the image {J w : ‖w‖ ≤ R} along datum k given the k − 1 fixed before: pivoted QR of Jᵀ.

    The whole manifold of a linear model with bounded weights, the tangent one of any other.

    >>> ball_widths(np.array([[1.0, 0.0], [1.0, 0.5]])).widths.round(6).tolist()
    [2.236068, 0.894427]
    """
    from scipy.linalg import qr

    _, r, order = qr(np.asarray(jacobian, float).T, mode="economic", pivoting=True)
    return SliceWidths(2 * radius * np.abs(np.diag(r)), tuple(int(i) for i in order[: len(r)]))


def dropped_widths(jacobian: Features, radius: float = 1.0) -> Float[np.ndarray, " n"]:
    """Width 2R/√((JJᵀ)⁻¹)ᵢᵢ of the image of the weight ball along each datum, ALL others held fixed; 0 if they fix it.

    >>> dropped_widths(np.array([[1.0, 0.0], [1.0, 0.5]])).round(6).tolist()
    [0.894427, 1.0]
    """
    u, s, _ = np.linalg.svd(np.asarray(jacobian, float), full_matrices=False)
    n, p = np.shape(jacobian)
    if p < n or s[-1] <= 1e-15 * s[0]:
        return np.array([_alone(np.asarray(jacobian, float), i) * 2 * radius for i in range(n)])
    return 2 * radius / np.sqrt(((u / s) ** 2).sum(1))


def hull_widths(curves: Features, reference: Float[np.ndarray, " p"] | None = None) -> SliceWidths:
    """Exact widths of all mixtures Σₖ aₖ curvesₖ, a ≥ 0, Σ a = 1, by linear programs; slices go through Σ mₖ curvesₖ.

    `curves` has the n data of one curve in each column (e^{−rt} for a grid of rates r: sums of exponentials), m is the
    `reference` mixture, equal shares without it.

    >>> hull_widths(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])).widths.round(6).tolist()
    [1.0, 0.666667]
    """
    curves = np.asarray(curves, float)
    n, p = curves.shape
    mixture = np.full(p, 1 / p) if reference is None else np.asarray(reference, float)
    if np.any(mixture < 0) or not np.isclose(mixture.sum(), 1.0):
        raise ValueError("A mixture has shares of at least 0 that sum to 1; the reference has not.")
    fixed: list[int] = []
    widths: list[float] = []
    while len(fixed) < n:
        rest = [i for i in range(n) if i not in fixed]
        spans = [hull_width(curves, mixture, i, fixed) for i in rest]
        widest = int(np.argmax(spans))
        widths.append(spans[widest])
        fixed.append(rest[widest])
    return SliceWidths(np.array(widths), tuple(fixed))


def hull_width(curves: Features, mixture: Float[np.ndarray, " p"], datum: int, fixed: list[int]) -> float:
    """max − min of one datum over all mixtures that agree with `mixture` at the `fixed` data.

    >>> hull_width(np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), np.ones(3) / 3, 1, [0])
    0.6666666666666666
    """
    from scipy.optimize import linprog

    rows = np.vstack([curves[fixed], np.ones(curves.shape[1])])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * curves[datum], A_eq=rows, b_eq=rows @ mixture, bounds=(0, None), options=options)
        if found.status:
            raise ValueError(f"The slice at datum {datum} was not solved ({found.message}); fix fewer data.")
        ends.append(sign * found.fun)
    return ends[1] - ends[0]


def geometric_fit(widths: Float[np.ndarray, " k"]) -> tuple[float, float]:
    """The factor from each width to the next in a least-squares line through the log widths, and its R².

    >>> factor, fit = geometric_fit(np.array([8.0, 4.0, 2.0]))
    >>> round(factor, 9), round(fit, 9)
    (0.5, 1.0)
    """
    widths = np.asarray(widths, float)
    if len(widths) < 3 or np.any(widths <= 0):
        raise ValueError("A geometric decay is read off at least 3 positive widths; leave out those that are 0.")
    logs, rank = np.log(widths), np.arange(len(widths))
    slope = np.polyfit(rank, logs, 1)[0]
    return float(np.exp(slope)), float(np.corrcoef(rank, logs)[0, 1] ** 2)


def _alone(jacobian: Features, datum: int) -> float:
    """The norm of row `datum` outside the span of the others."""
    others = np.delete(jacobian, datum, 0)
    row = jacobian[datum]
    left = row - others.T @ np.linalg.lstsq(others.T, row, rcond=None)[0]
    size = float(np.linalg.norm(left))
    return size if size > 1e-12 * float(np.linalg.norm(row)) else 0.0
