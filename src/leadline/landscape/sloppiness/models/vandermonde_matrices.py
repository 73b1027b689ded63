"""Polynomials through as many points as coefficients: determinants in closed form, spectra to full accuracy."""

from fractions import Fraction
from typing import Literal

import numpy as np
from jaxtyping import Float

Basis = Literal["monomial", "chebyshev", "legendre"]
Points = Float[np.ndarray, " n"]


def design_matrix(
    points: Points, degree: int, basis: Basis = "monomial", *, interval: tuple[float, float] | None = None
) -> Float[np.ndarray, "n coefficients"]:
    """A_ik = φ_k(a_i), k = 0 … degree: powers of a, or Chebyshev or Legendre polynomials of a mapped to [−1, 1].

    `interval` is what is mapped to [−1, 1]; by default the one that the points span. Powers are not mapped.

    >>> design_matrix(np.array([0.0, 1.0, 2.0]), 2).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 2.0, 4.0]]
    """
    from numpy.polynomial import chebyshev, legendre

    points = np.asarray(points, float)
    if basis == "monomial":
        return np.vander(points, degree + 1, increasing=True)
    families = {"chebyshev": chebyshev.chebvander, "legendre": legendre.legvander}
    if basis not in families:
        raise ValueError(f"design_matrix got basis {basis!r}; choose 'monomial', 'chebyshev' or 'legendre'.")
    low, high = (points.min(), points.max()) if interval is None else interval
    if not high > low:
        raise ValueError(f"design_matrix got the interval from {low:g} to {high:g}; its length must be positive.")
    return families[basis]((2 * points - low - high) / (high - low), degree)


def vandermonde_log10_determinant(points: Points) -> float:
    """log₁₀ det(AᵀA) = 2 Σ_{i<j} log₁₀|a_j − a_i| for the powers 0 … n−1 at n distinct points; −∞ if two are equal.

    >>> round(vandermonde_log10_determinant(np.array([0.0, 1.0, 3.0])), 9)  # (1 · 3 · 2)² = 36
    1.556302501
    """
    points = np.asarray(points, float)
    i, j = np.triu_indices(len(points), 1)
    with np.errstate(divide="ignore"):
        return float(2 * np.sum(np.log10(np.abs(points[j] - points[i]))))


def inverse_vandermonde(points: Points) -> Float[np.ndarray, "n n"]:
    """A⁻¹ of A_ik = a_i^k: column i holds the coefficients of the Lagrange polynomial that is 1 at a_i, 0 elsewhere.

    Computed in rational arithmetic and rounded once, so that every entry is right to the last digit, however
    ill-conditioned A is.

    >>> inverse_vandermonde(np.array([0.0, 1.0])).tolist()
    [[1.0, 0.0], [-1.0, 1.0]]
    """
    exact = [Fraction(float(a)) for a in points]
    if len(set(exact)) < len(exact):
        raise ValueError("inverse_vandermonde got two equal points, and the matrix is singular; give distinct ones.")
    columns = []
    for i, own in enumerate(exact):
        coefficients = [Fraction(1)]
        for k, other in enumerate(exact):
            if k != i:  # times (x − a_k)/(a_i − a_k)
                shifted = [Fraction(0), *coefficients]
                lowered = [other * c for c in coefficients] + [Fraction(0)]
                coefficients = [(s - c) / (own - other) for s, c in zip(shifted, lowered, strict=True)]
        columns.append([float(c) for c in coefficients])
    return np.array(columns).T


def vandermonde_spectrum(points: Points) -> Float[np.ndarray, " n"]:
    """The eigenvalues of AᵀA for the powers 0 … n−1 at n points, largest first, all to a small relative error.

    Singular values of A are right to ε σ₁, those of A⁻¹ (from exact entries) to ε/σ_n; each eigenvalue is taken from
    the side where that is less. `numpy.linalg.eigvalsh(A.T @ A)` is right only to ε λ₁.

    >>> vandermonde_spectrum(np.array([-1.0, 1.0])).round(12).tolist()
    [2.0, 2.0]
    """
    points = np.asarray(points, float)
    forward = np.linalg.svd(design_matrix(points, len(points) - 1), compute_uv=False)
    backward = 1 / np.linalg.svd(inverse_vandermonde(points), compute_uv=False)[::-1]
    direct = forward > np.sqrt(backward[-1] * forward[0])
    return np.where(direct, forward, backward) ** 2
