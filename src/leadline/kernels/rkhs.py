"""Geometry of a kernel's space: inner products, norms and distances of expansions, and who belongs to it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from leadline._checks import require_numbers

from .algebra import Similarity
from .pairs import Others, Points

Coefficients = Num[Array | np.ndarray, " coefficients"]
OtherCoefficients = Num[Array | np.ndarray, " others"]


class FunctionGeometry(NamedTuple):
    """Two functions of one space: their inner product, their norms, their distance, and the angle in radians."""

    inner: float
    norms: tuple[float, float]
    distance: float
    angle: float  # NaN where one of them is 0


class InterpolantNorms(NamedTuple):
    """‖f_n‖² of the shortest function that agrees with f on each of several point sets."""

    sizes: list[int]
    squared: Float[np.ndarray, " grids"]
    dropped: list[int]  # directions of each Gram matrix that are 0 to rounding and were left out


def rkhs_inner(kernel: Similarity, x: Points, alpha: Coefficients, z: Others, beta: OtherCoefficients) -> float:
    """⟨Σ αᵢ k(xᵢ, ·), Σ βⱼ k(zⱼ, ·)⟩ = αᵀ K(x, z) β.

    >>> rkhs_inner(lambda a, b: a @ b.T, np.eye(2), np.array([1.0, 2.0]), np.ones((1, 2)), np.array([3.0]))
    9.0
    """
    require_numbers("rkhs_inner", x=x, alpha=alpha, z=z, beta=beta)
    if len(x) != len(alpha) or len(z) != len(beta):
        raise ValueError(
            f"rkhs_inner got {len(x)} and {len(z)} points with {len(alpha)} and {len(beta)} coefficients; give one "
            "coefficient per point."
        )
    return float(np.asarray(alpha) @ np.asarray(kernel(x, z)) @ np.asarray(beta))


def rkhs_norm(kernel: Similarity, x: Points, alpha: Coefficients) -> float:
    """‖Σ αᵢ k(xᵢ, ·)‖ = √(αᵀKα): the same for every way to write one function.

    >>> rkhs_norm(lambda a, b: a @ b.T, np.array([[3.0, 4.0]]), np.array([2.0]))
    10.0
    """
    return max(rkhs_inner(kernel, x, alpha, x, alpha), 0.0) ** 0.5


def function_geometry(
    kernel: Similarity, x: Points, alpha: Coefficients, z: Others, beta: OtherCoefficients
) -> FunctionGeometry:
    """Inner product, norms, distance and angle of f = Σ αᵢ k(xᵢ, ·) and g = Σ βⱼ k(zⱼ, ·).

    >>> k = lambda a, b: a @ b.T
    >>> found = function_geometry(k, np.eye(2), np.array([3.0, 0.0]), np.eye(2), np.array([0.0, 4.0]))
    >>> found.norms, found.distance, round(found.angle, 4)
    ((3.0, 4.0), 5.0, 1.5708)
    """
    inner = rkhs_inner(kernel, x, alpha, z, beta)
    f, g = rkhs_norm(kernel, x, alpha), rkhs_norm(kernel, z, beta)
    both = np.concatenate([np.asarray(x), np.asarray(z)])
    distance = rkhs_norm(kernel, both, np.concatenate([np.asarray(alpha), -np.asarray(beta)]))
    angle = float(np.arccos(np.clip(inner / (f * g), -1, 1))) if f * g > 0 else float("nan")
    return FunctionGeometry(inner, (f, g), distance, angle)


def interpolant_norms(
    kernel: Similarity,
    f: Callable[[Points], Float[Array | np.ndarray, " m"]],
    grids: Sequence[Float[Array | np.ndarray, "..."]],
) -> InterpolantNorms:
    """‖f_n‖² = f(x)ᵀK⁻¹f(x) on each point set: nondecreasing over nested sets, and bounded iff f is in the space.

    Directions in which K is 0 to rounding are left out, so that a number is never above the true one.

    >>> from leadline.kernels import Minimum
    >>> grids = [np.arange(1, n + 1)[:, None] / n for n in (10, 100)]
    >>> interpolant_norms(Minimum(), lambda x: np.sin(np.pi * x[:, 0] / 2), grids).squared.round(5).tolist()
    [1.23117, 1.23368]
    """
    squared, dropped = [], []
    for x in grids:
        K, values = np.asarray(kernel(x, x), float), np.asarray(f(x), float)
        if values.shape != (len(x),):
            raise ValueError(
                f"interpolant_norms got values of shape {values.shape} for {len(x)} points; give one each."
            )
        square, lost = _shortest(K, values)
        squared.append(square)
        dropped.append(lost)
    return InterpolantNorms([len(x) for x in grids], np.array(squared), dropped)


def _shortest(K: np.ndarray, values: np.ndarray) -> tuple[float, int]:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve
    from scipy.linalg.lapack import dpocon

    rounding = len(K) * np.finfo(float).eps
    try:
        lower = cho_factor(K, lower=True)
        if dpocon(lower[0], np.abs(K).sum(axis=0).max(), uplo="L")[0] > 10 * rounding:
            return float(values @ cho_solve(lower, values)), 0
    except LinAlgError:
        pass
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > 10 * rounding * eigenvalues[-1]
    return float(np.sum((vectors[:, kept].T @ values) ** 2 / eigenvalues[kept])), int(np.sum(~kept))
