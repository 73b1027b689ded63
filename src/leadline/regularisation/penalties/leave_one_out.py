"""Leave-one-out errors of ridge regression for a whole path of penalties, without a refit."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require
from leadline.learning.regression.linear import sample


class LeaveOneOut(NamedTuple):
    """What each row misses when ridge regression is fitted to the others, for each of k penalties."""

    residuals: Float[Array | np.ndarray, "k n"]
    leverages: Float[Array | np.ndarray, "k n"]  # the diagonal of the hat matrix
    alphas: Float[Array | np.ndarray, " k"]

    @property
    def errors(self) -> Float[Array | np.ndarray, " k"]:
        """The leave-one-out mean squared error of each penalty."""
        return (self.residuals**2).mean(axis=1)

    @property
    def best(self) -> float:
        """The penalty with the least error, the first of them."""
        return float(self.alphas[int(np.argmin(np.asarray(self.errors)))])


def ridge_leave_one_out(
    x: Real[Array | np.ndarray, "n d"],
    y: Real[Array | np.ndarray, " n"],
    alphas: Real[Array | np.ndarray, " k"],
    *,
    intercept: bool = True,
) -> LeaveOneOut:
    """yᵢ − ŷᵢ₍₋ᵢ₎ = (yᵢ − ŷᵢ)/(1 − Hᵢᵢ) of the fit argmin ‖y − Xθ − b‖² + α‖θ‖², for every α, exactly.

    H = X(XᵀX + αI)⁻¹Xᵀ, and 11ᵀ/n of the free intercept with X centred (Allen 1974, PRESS). The penalty belongs to
    the SUM of squares, so that it stays the same when a row leaves: α = nγ of `ridge`. One singular value decomposition
    serves all penalties: two products of n × r and r × k. α = 0 is refused for rows that decide their own prediction.
    NumPy arrays give NumPy arrays; JAX arrays give JAX arrays.

    >>> found = ridge_leave_one_out(np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 3.0, 3.0]), np.array([0.0, 2.0]))
    >>> found.residuals.round(12).tolist(), found.best
    ([[-3.0, 1.5, -3.0], [-3.0, 1.5, 0.6]], 2.0)
    """
    require("ridge_leave_one_out", axes=2, x=x)
    require("ridge_leave_one_out", axes=1, y=y, alphas=alphas)
    if not np.all(np.asarray(alphas) >= 0):
        raise ValueError(f"ridge_leave_one_out got alpha = {np.asarray(alphas).min():g}; give 0 or more.")
    xp, x, y = sample(x, y)
    n = len(y)
    if n < 2:
        raise ValueError("ridge_leave_one_out got one row; give at least two, so that one is left to fit.")
    alphas = xp.asarray(alphas, x.dtype)
    if intercept:
        x, y = x - x.mean(axis=0), y - y.mean()
    u, s, _ = xp.linalg.svd(x, full_matrices=False)
    kept = s > max(x.shape) * xp.finfo(s.dtype).eps * s[:1]
    u = xp.where(kept, u, 0.0)
    # What no penalty changes: the part of y, and of each row's own weight, outside the range of X (and of 1).
    seen = u.T @ y
    outside, free = y - u @ seen, 1 - float(intercept) / n - (u**2).sum(axis=1)
    full = int(kept.sum()) == n - int(intercept)  # then there is no outside; what is left of it is rounding
    outside, free = (0 * outside, 0 * free) if full else (outside, free)
    shrunk = xp.where(kept, alphas[:, None] / xp.where(kept, s**2 + alphas[:, None], 1.0), 0.0)  # (k, rank)
    left = free + shrunk @ (u**2).T  # 1 − Hᵢᵢ
    if not bool(xp.all(left > 16 * xp.finfo(s.dtype).eps * (alphas[:, None] == 0))):
        raise ValueError(
            "ridge_leave_one_out got alpha = 0 and a row that decides its own prediction (leverage 1); give alpha > 0."
        )
    return LeaveOneOut((outside + shrunk @ (u * seen).T) / left, 1 - left, alphas)
