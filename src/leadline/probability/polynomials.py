"""Polynomial approximation of continuous functions: Bernstein, Chebyshev and equispaced interpolation."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, " points"]
Function = Callable[[Any], Any]


def bernstein_polynomial(function: Function, degree: int, *, low: float = 0.0, high: float = 1.0) -> Function:
    """B_n f(x) = Σ_k f(k/n) C(n, k) xᵏ (1-x)^{n-k}, carried over from [0, 1] to [low, high].

    It is the mean of f at a binomial share of successes, so it converges for every continuous f: at rate n^{-1/2} for a
    Lipschitz f, and never faster than 1/n (Bernstein 1912). Evaluated with SciPy's binomial distribution, stable at any
    degree.

    >>> p = bernstein_polynomial(lambda x: x**2, 4)
    >>> p(np.array([0.5])).round(12).tolist()  # x² + x(1-x)/n
    [0.3125]
    """
    _check(degree, low, high)
    values = np.asarray(function(np.linspace(low, high, degree + 1)), float)

    def polynomial(x: Points) -> Points:
        from scipy.stats import binom

        share = (np.asarray(x, float) - low) / (high - low)
        return binom.pmf(np.arange(degree + 1), degree, share[:, None]) @ values

    return polynomial


def chebyshev_interpolant(function: Function, degree: int, *, low: float = 0.0, high: float = 1.0) -> Function:
    """The polynomial through f at the degree + 1 Chebyshev points of [low, high]; geometric for analytic f.

    >>> p = chebyshev_interpolant(np.exp, 14)
    >>> x = np.linspace(0, 1, 50)
    >>> bool(np.abs(p(x) - np.exp(x)).max() < 1e-14)
    True
    """
    _check(degree, low, high)
    from scipy.interpolate import BarycentricInterpolator

    nodes = low + (high - low) * (1 + np.polynomial.chebyshev.chebpts1(degree + 1)) / 2
    return BarycentricInterpolator(nodes, np.asarray(function(nodes), float))


def equispaced_interpolant(function: Function, degree: int, *, low: float = 0.0, high: float = 1.0) -> Function:
    """The polynomial through f at degree + 1 equal spaces of [low, high]; it may diverge for analytic f (Runge 1901).

    >>> p = equispaced_interpolant(lambda x: 1 / (1 + 25 * x**2), 20, low=-1.0, high=1.0)
    >>> bool(np.abs(p(np.array([0.97])))[0] > 10)
    True
    """
    from scipy.interpolate import BarycentricInterpolator

    _check(degree, low, high)
    nodes = np.linspace(low, high, degree + 1)
    return BarycentricInterpolator(nodes, np.asarray(function(nodes), float))


def largest_error(
    function: Function, approximation: Function, *, low: float = 0.0, high: float = 1.0, points: int = 4001
) -> float:
    """max |f - p| over a grid of [low, high] that is finer towards the ends; a lower bound of the sup norm.

    >>> largest_error(np.cos, lambda x: 1.0 + 0 * x, high=np.pi)
    2.0
    """
    angle = np.linspace(0, np.pi, points)
    x = low + (high - low) * (1 - np.cos(angle)) / 2
    return float(np.max(np.abs(np.asarray(function(x)) - np.asarray(approximation(x)))))


def _check(degree: int, low: float, high: float) -> None:
    if degree < 1 or not low < high:
        raise ValueError(f"No polynomial of degree {degree} on [{low}, {high}]; degree >= 1 and low < high are needed.")
