"""What a flexible regression tends to on infinitely many jittered copies of its inputs."""

import numpy as np
from jaxtyping import Array, Float, Num
from scipy.special import softmax

from leadline._checks import require_numbers, require_rows


def jitter_limit(
    x: Num[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " _"],
    points: Num[Array | np.ndarray, "m d"],
    scale: float,
) -> Float[np.ndarray, " m"]:
    """f(u) = Σᵢ yᵢ φ((u − xᵢ)/s) / Σᵢ φ((u − xᵢ)/s), φ the Gaussian density: Nadaraya and Watson's smoother.

    Of all functions it has the least mean of (f(xᵢ + sξ) − yᵢ)² over i and ξ ~ N(0, I): it is E[y | xᵢ + sξ = u]
    (Nadaraya 1964, Watson 1964; Bishop 1995).

    >>> jitter_limit(np.array([[0.0], [1.0]]), np.array([0.0, 2.0]), np.array([[0.5]]), 0.3).tolist()
    [1.0]
    """
    require_rows("jitter_limit", x=x, y=y)
    require_numbers("jitter_limit", x=x, y=y, points=points)
    if not scale > 0:
        raise ValueError(f"jitter_limit got scale = {scale}; give a number above 0.")
    x, points = np.asarray(x, float), np.asarray(points, float)
    square = ((points[:, None] - x) ** 2).sum(axis=-1)  # (m, n)
    return softmax(-square / (2 * scale**2), axis=1) @ np.asarray(y, float)
