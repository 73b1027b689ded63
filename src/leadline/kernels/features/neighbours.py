"""Distances to the nearest neighbour on the torus, and their exact distribution."""

from functools import lru_cache

import numpy as np
from jaxtyping import Array, Float, Num


def torus_neighbour_distances(
    points: Float[Array | np.ndarray, "n d"], queries: int | None = None
) -> Float[np.ndarray, " queries"]:
    """The distance from each of the first `queries` points (all by default) to its nearest other point on [0, 1)ᵈ.

    Opposite faces are glued, so no point lies at a border.

    >>> torus_neighbour_distances(np.array([[0.1], [0.9], [0.5]])).round(6).tolist()
    [0.2, 0.2, 0.4]
    """
    from scipy.spatial import cKDTree

    points = np.asarray(points, float)
    if len(points) < 2 or (points < 0).any() or (points >= 1).any():
        raise ValueError("torus_neighbour_distances needs at least 2 points with coordinates in [0, 1).")
    tree = cKDTree(points, boxsize=1.0)
    return tree.query(points[:queries], k=2)[0][:, 1]


def unit_ball_volume(dim: int) -> float:
    """V_d = π^(d/2)/Γ(1 + d/2).

    >>> round(unit_ball_volume(3), 6)
    4.18879
    """
    from scipy.special import gammaln

    return float(np.exp(dim / 2 * np.log(np.pi) - gammaln(1 + dim / 2)))


def asymptotic_neighbour_distance(samples: int | Num[np.ndarray, " k"], dim: int) -> float | Float[np.ndarray, " k"]:
    """Γ(1 + 1/d) (n V_d)^(-1/d): the mean distance to the nearest of n uniform points, to leading order in n.

    >>> asymptotic_neighbour_distance(50, 1)
    0.01
    """
    from scipy.special import gamma

    mean = gamma(1 + 1 / dim) * (samples * unit_ball_volume(dim)) ** (-1 / dim)
    return float(mean) if np.ndim(samples) == 0 else mean


def mean_neighbour_distance(samples: int, dim: int) -> float:
    """The exact mean distance from a point to the nearest of n - 1 others, all uniform on the torus [0, 1)ᵈ.

    E D = ∫ (1 - F_d(r))^(n-1) dr, where F_d(r) is the share of the torus within r: the ball of radius r cut by the
    cube of side 1. To about five digits.

    >>> round(mean_neighbour_distance(2, 1), 4), round(mean_neighbour_distance(100, 1), 6)
    (0.25, 0.005)
    """
    if samples < 2 or dim < 1:
        raise ValueError(f"mean_neighbour_distance got {samples} points in dimension {dim}; give 2 or more and d >= 1.")
    from scipy.special import betainc, betaln

    volume = unit_ball_volume(dim)
    # Up to r = 1/2 the ball fits into the cube and the integral is an incomplete beta function.
    whole = np.exp(betaln(1 / dim, samples)) / (dim * volume ** (1 / dim))
    inside = whole * betainc(1 / dim, samples, min(volume / 2**dim, 1.0))
    if dim == 1:
        return float(inside)
    radii, share = _ball_shares(dim)
    survival = (1 - share) ** (samples - 1)
    return float(inside + np.trapezoid(survival, radii))


@lru_cache
def _ball_shares(dim: int, points: int = 1501) -> tuple[np.ndarray, np.ndarray]:
    """F_d(r) = P(‖U‖ ≤ r), U uniform on [-1/2, 1/2]ᵈ, on a grid of r ≥ 1/2; F_d(r) = 2∫ F_{d-1}(√(r² - u²)) du."""
    radii = np.linspace(0, dim**0.5 / 2, points)
    share = np.minimum(2 * radii, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(32)
    angle = np.pi / 4 * (nodes + 1)
    reach = np.minimum(radii, 0.5)[:, None]
    u = reach * np.sin(angle)  # takes away the square root at u = r
    rest = np.sqrt(np.maximum(radii[:, None] ** 2 - u**2, 0))
    for d in range(2, dim + 1):
        inner = np.interp(rest, radii, share)
        share = np.minimum(2 * (inner * reach * np.cos(angle)) @ (weights * np.pi / 4), 1.0)
        small = radii <= 0.5
        share[small] = unit_ball_volume(d) * radii[small] ** d
    outside = np.linspace(0.5, dim**0.5 / 2, points)
    return outside, np.interp(outside, radii, share)
