"""Ellipsoids {½ δᵀg δ ≤ c} of weights: what a ball of data space, a contour of the loss or a confidence region is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from leadline.kernels.features.neighbours import unit_ball_volume

from .models.regression_models import RegressionModel

Symmetric = Float[np.ndarray, "p p"]


def ellipsoid_volume(metric: Symmetric, level: float = 1.0) -> float:
    """The volume V_p (2c)^{p/2}/√det g of {½ δᵀg δ ≤ c}: INVERSELY proportional to √det g; infinite for singular g.

    >>> round(ellipsoid_volume(np.diag([4.0, 4.0, 4.0])), 4)
    1.481
    """
    values = _eigenvalues(metric)
    if values[0] <= 0:
        return float("inf")
    return unit_ball_volume(len(values)) * float(np.exp(len(values) / 2 * np.log(2 * level) - np.log(values).sum() / 2))


def semi_axes(metric: Symmetric, level: float = 1.0) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Lengths √(2c/λᵢ) of the semi-axes of {½ δᵀg δ = c}, longest first, and their directions in the columns.

    >>> semi_axes(np.diag([2.0, 8.0]))[0].tolist()
    [1.0, 0.5]
    """
    _eigenvalues(metric)
    values, vectors = np.linalg.eigh(metric)
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * level / np.maximum(values, 0.0)), vectors


def ellipsoid_points(
    metric: Symmetric, directions: Float[np.ndarray, "k p"], level: float = 1.0
) -> Float[np.ndarray, "k p"]:
    """The points of {½ δᵀg δ = c} that the linear map √(2c) g^{−1/2} makes of unit directions.

    >>> ellipsoid_points(np.diag([2.0, 8.0]), np.eye(2)).round(12).tolist()
    [[1.0, 0.0], [0.0, 0.5]]
    """
    lengths, axes = semi_axes(metric, level)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return (unit @ axes * lengths) @ axes.T


def ellipse_points(
    covariance: Float[np.ndarray, "2 2"],
    centre: Sequence[float] | Float[np.ndarray, " 2"] = (0.0, 0.0),
    scale: float = 1.0,
    count: int = 120,
) -> Float[np.ndarray, "k 2"]:
    """A closed polygon of k = `count` points on {(x − m)ᵀ Σ⁻¹ (x − m) = scale²}, to be drawn.

    >>> ellipse_points(np.diag([4.0, 1.0]), count=5).round(9).tolist()
    [[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [-0.0, -1.0], [2.0, -0.0]]
    """
    values, vectors = np.linalg.eigh(np.asarray(covariance, float))
    if values[0] < -1e-12 * abs(values[-1]):
        raise ValueError(f"A covariance has no negative eigenvalue; this one has {values[0]:.3g}.")
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    angles = np.linspace(0.0, 2 * np.pi, count)
    return np.asarray(centre, float) + scale * np.stack([np.cos(angles), np.sin(angles)], 1) @ root


def confidence_scale(coverage: float, dim: int = 2) -> float:
    """k with P(zᵀz ≤ k²) = coverage for a standard normal z of `dim` coordinates.

    >>> round(confidence_scale(0.95), 4)  # √(−2 ln 0.05)
    2.4477
    """
    from scipy.special import chdtri

    if not 0 < coverage < 1:
        raise ValueError(f"coverage = {coverage} is no probability inside (0, 1); give for example 0.95.")
    return float(np.sqrt(chdtri(dim, 1 - coverage)))


def cramer_rao_ellipse(
    metric: Symmetric,
    samples: int,
    pair: tuple[int, int] = (0, 1),
    centre: Sequence[float] | Float[np.ndarray, " 2"] = (0.0, 0.0),
    coverage: float | None = None,
    count: int = 120,
) -> Float[np.ndarray, "k 2"]:
    """The Cramér-Rao ellipse of two weights: of the block (i, j) of g⁻¹/n, all others unknown too (g per sample).

    One standard deviation without `coverage`; else the region that holds the estimate with that probability.

    >>> cramer_rao_ellipse(np.diag([1.0, 4.0]), 25, count=5)[:2].round(9).tolist()
    [[0.2, 0.0], [0.0, 0.1]]
    """
    if _eigenvalues(metric)[0] <= 0:
        raise ValueError(
            "The metric is singular: some weights have no finite variance; leave out what is unidentified."
        )
    block = np.linalg.inv(metric)[np.ix_(pair, pair)] / samples
    return ellipse_points(block, centre, 1.0 if coverage is None else confidence_scale(coverage), count)


def data_radii(
    model: RegressionModel, w: Float[np.ndarray, " p"], steps: Float[np.ndarray, "k p"], deviation: float = 1.0
) -> Float[np.ndarray, " k"]:
    """√((1/2n) Σᵢ (f(xᵢ; w + δ) − f(xᵢ; w))²/σ²): how far steps δ lead in data space; √(½ δᵀg δ) for small ones.

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> data_radii(polynomial_model(np.array([0.0, 1.0]), 0), np.zeros(1), np.array([[2.0]])).round(9).tolist()
    [1.414213562]
    """
    moved = model.predict(w + steps) - model.predict(w)
    return np.sqrt(np.mean((moved / deviation) ** 2, axis=1) / 2)


def _eigenvalues(metric: Symmetric) -> Float[np.ndarray, " p"]:
    metric = np.asarray(metric, float)
    if metric.ndim != 2 or not np.allclose(metric, metric.T, rtol=1e-8, atol=1e-12 * np.abs(metric).max()):
        raise ValueError(f"A metric is a symmetric matrix; this one of shape {metric.shape} is not.")
    return np.linalg.eigvalsh(metric)
