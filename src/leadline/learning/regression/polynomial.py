"""Polynomials of one variable, fitted in Legendre polynomials that are orthonormal on their interval."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Real
from numpy.polynomial import legendre

from .linear import least_squares

Domain = tuple[float, float]


class PolynomialFit(NamedTuple):
    """Σₖ cₖ pₖ(x) with the Legendre polynomials pₖ orthonormal for the uniform distribution on `domain`."""

    coefficients: Float[np.ndarray, "*batch m"]
    domain: Domain

    def predict(self, x: Real[np.ndarray, "*batch n"]) -> Float[np.ndarray, "*batch n"]:
        """The polynomial's values; with a batch of polynomials, each at its own row of x."""
        features = legendre_features(x, self.coefficients.shape[-1] - 1, domain=self.domain)
        return (features @ self.coefficients[..., None])[..., 0]

    def monomial(self) -> Float[np.ndarray, "*batch m"]:
        """The coefficients a₀, a₁, … of Σ aₖ xᵏ, by exact algebra up to rounding.

        >>> PolynomialFit(np.array([0.5, 3**-0.5 / 2]), (0.0, 1.0)).monomial().round(12).tolist()
        [0.0, 1.0]
        """
        return self.coefficients @ _to_monomials(self.coefficients.shape[-1], self.domain)


def legendre_features(
    x: Real[np.ndarray, "*n"], degree: int, *, domain: Domain = (0.0, 1.0)
) -> Float[np.ndarray, "*n m"]:
    """p₀(x), …, p_degree(x) with ∫ pⱼ pₖ = δⱼₖ under the uniform distribution on `domain`; p₀ = 1.

    >>> legendre_features(np.array([0.0, 0.5, 1.0]), 1).round(4).tolist()
    [[1.0, -1.7321], [1.0, 0.0], [1.0, 1.7321]]
    """
    if degree < 0 or domain[0] >= domain[1]:
        raise ValueError(f"Got degree {degree} on {domain}; give a degree of 0 or more and an interval (low, high).")
    low, high = domain
    t = (2 * np.asarray(x, float) - low - high) / (high - low)
    return legendre.legvander(t, degree) * np.sqrt(2 * np.arange(degree + 1) + 1)


def polynomial_fit(
    x: Real[np.ndarray, "*batch n"], y: Real[np.ndarray, "*batch n"], degree: int, *, domain: Domain = (0.0, 1.0)
) -> PolynomialFit:
    """Least squares over polynomials up to `degree`; past n points, the interpolant of least coefficient norm.

    The orthonormal basis keeps the problem well conditioned where monomials do not. Leading axes are separate fits.

    >>> x = np.linspace(0, 1, 5)
    >>> polynomial_fit(x, x**2 - x, 2).monomial().round(10).tolist()
    [0.0, -1.0, 1.0]
    """
    fit = least_squares(legendre_features(x, degree, domain=domain), y, intercept=False)
    return PolynomialFit(np.asarray(fit.weights), domain)


def _to_monomials(terms: int, domain: Domain) -> Float[np.ndarray, "m m"]:
    """Row k holds the monomial coefficients of pₖ."""
    from numpy.polynomial import Legendre, Polynomial

    rows = np.zeros((terms, terms))
    for k in range(terms):
        shifted = Legendre.basis(k, domain=domain).convert(kind=Polynomial, domain=(-1, 1), window=(-1, 1)).coef
        rows[k, : len(shifted)] = np.sqrt(2 * k + 1) * shifted
    return rows
