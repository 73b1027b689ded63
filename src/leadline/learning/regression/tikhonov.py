"""Tikhonov regularisation: least squares plus γ times a squared seminorm, for a whole path of γ."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Real

from leadline._checks import require, require_numbers

Domain = tuple[float, float]


class TikhonovFits(NamedTuple):
    """Coefficients for several γ, one a row, and for γ → ∞: the least-squares fit in the seminorm's null space."""

    coefficients: Float[np.ndarray, "*batch k m"]
    limit: Float[np.ndarray, "*batch m"]


def tikhonov_fits(
    features: Float[np.ndarray, "n m"],
    y: Real[np.ndarray, "*batch n"],
    penalty: Float[np.ndarray, "m m"],
    gammas: Real[np.ndarray, " k"],
) -> TikhonovFits:
    """argmin (1/n)‖Φc − y‖² + γ cᵀPc for every γ > 0, P positive semidefinite; γ‖f‖² of f = Σ cₖ φₖ.

    What P does not see is fitted freely: the null space of P is projected out of features and targets, and the rest
    is ridge regression in P^{1/2}c, by one singular value decomposition. Accurate for every γ, however large. Leading
    axes of y are separate problems.

    >>> fits = tikhonov_fits(np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([0.0, 4.0]), np.diag([0.0, 1.0]), np.ones(1))
    >>> fits.coefficients.round(12).tolist(), fits.limit.round(12).tolist()
    ([[2.0, 1.0]], [2.0, 0.0])
    """
    require_numbers("tikhonov_fits", features=features, y=y, penalty=penalty)
    require("tikhonov_fits", axes=1, gammas=gammas)
    features, y, gammas = np.asarray(features, float), np.asarray(y, float), np.asarray(gammas, float)
    n, m = features.shape
    if y.shape[-1:] != (n,) or penalty.shape != (m, m):
        raise ValueError(
            f"Features {features.shape}, targets {y.shape} and penalty {penalty.shape} do not match; give (n, m), (n,) "
            "and (m, m)."
        )
    if not np.all(gammas > 0):
        raise ValueError(f"tikhonov_fits got gamma = {gammas.min():g}; give penalties above 0.")
    values, vectors = np.linalg.eigh((penalty + penalty.T) / 2)
    rounding = m * np.finfo(float).eps
    if values[0] < -100 * rounding * abs(values[-1]):
        raise ValueError(f"The penalty has the eigenvalue {values[0]:.3g}; give a positive semidefinite matrix.")
    seen = values > rounding * values[-1]
    free, bound = vectors[:, ~seen], vectors[:, seen] / np.sqrt(values[seen])
    u, s, vt = np.linalg.svd(features @ free, full_matrices=False)
    kept = s > 10 * max(n, m) * np.finfo(float).eps * np.linalg.norm(features, 2)
    u, inverse = u[:, kept], free @ (vt[kept].T / s[kept])  # c = inverse @ (uᵀ target) fits a target in the null space
    visible = features @ bound
    left, t, right = np.linalg.svd(visible - u @ (u.T @ visible), full_matrices=False)
    shrunk = t / (t**2 + n * gammas[:, None])
    inside = (shrunk * ((y - (y @ u) @ u.T) @ left)[..., None, :]) @ right  # (..., k, seen)
    rest = ((y[..., None, :] - inside @ visible.T) @ u) @ inverse.T
    return TikhonovFits(inside @ bound.T + rest, (y @ u) @ inverse.T)


class SplineSpace(NamedTuple):
    """Splines of degree 2q − 1 with given knots, and the seminorm ∫ (f⁽q⁾)² as a matrix in their B-splines.

    The minimiser of (1/n)Σ(f(xᵢ) − yᵢ)² + γ∫(f⁽q⁾)² over all functions is such a spline with knots at the xᵢ
    (Schoenberg 1964, Reinsch 1967): q = 1 broken lines, q = 2 cubic splines.
    """

    order: int
    knots: Float[np.ndarray, " t"]
    penalty: Float[np.ndarray, "m m"]

    def features(self, x: Real[np.ndarray, " n"]) -> Float[np.ndarray, "n m"]:
        """The B-splines at the points x, which lie between the first and the last knot."""
        from scipy.interpolate import BSpline

        return BSpline.design_matrix(np.asarray(x, float), self.knots, 2 * self.order - 1).toarray()


def spline_space(sites: Real[np.ndarray, " s"], order: int) -> SplineSpace:
    """Splines with knots at the increasing `sites` for the seminorm of order 1 (H¹) or 2 (H²).

    >>> space = spline_space(np.array([0.0, 0.5, 1.0]), 1)
    >>> space.penalty.round(12).tolist()  # of the three hat functions
    [[2.0, -2.0, 0.0], [-2.0, 4.0, -2.0], [0.0, -2.0, 2.0]]
    """
    from scipy.interpolate import BSpline

    sites = np.asarray(sites, float)
    if len(sites) < 2 or not np.all(np.diff(sites) > 0) or order not in (1, 2):
        raise ValueError(
            f"spline_space got {len(sites)} sites and order {order}; give increasing sites, at least two, "
            f"and order 1 or 2."
        )
    degree = 2 * order - 1
    knots = np.concatenate([[sites[0]] * degree, sites, [sites[-1]] * degree])
    derivative = BSpline(knots, np.eye(len(knots) - degree - 1), degree).derivative(order)
    nodes, weights = np.polynomial.legendre.leggauss(order)  # exact: the square has degree 2(order − 1)
    half = np.diff(sites)[:, None] / 2
    points = (sites[:-1, None] + half + half * nodes).ravel()
    values = derivative(points)  # (points, m)
    return SplineSpace(order, knots, values.T @ ((half * weights).ravel()[:, None] * values))
