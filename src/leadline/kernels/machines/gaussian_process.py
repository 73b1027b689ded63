"""Gaussian processes: paths, and regression with posterior, evidence and leave-one-out densities."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator

from ..algebra import diagonal_of
from ..validity.positivity import least_jitter
from .expansion import Gram, Points, as_points
from .factorisation import Factor, factorise
from .ridge_regression import Targets, sample_gram


class Paths(NamedTuple):
    """Values of sampled functions, one a row, and what was added to the diagonal so that the factor exists."""

    values: Float[np.ndarray, "count m"]
    jitter: float


class LeaveOneOut(NamedTuple):
    """The predictive distribution N(mean, variance) of each yᵢ given the others, and the log density of yᵢ under it."""

    mean: Float[np.ndarray, "n ..."]
    variance: Float[np.ndarray, " n"]
    log_density: Float[np.ndarray, "n ..."]


class ProcessPosterior(NamedTuple):
    """F given y = F(x) + N(0, noise): a Gaussian process again. Columns of y are independent copies of F."""

    kernel: Gram
    x: Num[Array | np.ndarray, "n ..."]
    y: Float[np.ndarray, "n ..."]
    noise: float
    factor: Factor  # of K + noise I
    alpha: Float[np.ndarray, "n ..."]  # (K + noise I)⁻¹ y

    def mean(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[np.ndarray, "m ..."]:
        """kₓᵀ(K + s²I)⁻¹y."""
        return np.asarray(self.kernel(as_points(x), self.x)) @ self.alpha

    def covariance(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[np.ndarray, "m m"]:
        """k(x, x') − kₓᵀ(K + s²I)⁻¹kₓ', of F itself, without the noise."""
        x = as_points(x)
        half = self.factor.whiten(np.asarray(self.kernel(self.x, x)))
        covariance = np.asarray(self.kernel(x, x)) - half.T @ half
        return (covariance + covariance.T) / 2

    def variance(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[np.ndarray, " m"]:
        """The diagonal of the covariance; at least 0."""
        x = as_points(x)
        half = self.factor.whiten(np.asarray(self.kernel(self.x, x)))
        return np.maximum(np.asarray(diagonal_of(self.kernel, x)) - np.sum(half**2, axis=0), 0.0)

    def log_evidence(self) -> float:
        """log p(y) = −½ yᵀ(K + s²I)⁻¹y − ½ log det(K + s²I) − (n/2) log 2π, summed over outputs."""
        outputs = math.prod(self.y.shape[1:])
        fit = float(np.sum(self.y * self.alpha))
        return -0.5 * (fit + outputs * (self.factor.log_determinant() + len(self.y) * math.log(2 * math.pi)))

    def leave_one_out(self) -> LeaveOneOut:
        """Mean yᵢ − αᵢ/Cᵢᵢ and variance 1/Cᵢᵢ with C = (K + s²I)⁻¹, noise included (Sundararajan, Keerthi 2001)."""
        variance = 1 / self.factor.inverse_diagonal()
        spread = variance.reshape(-1, *[1] * (self.y.ndim - 1))
        residual = self.alpha * spread
        density = -0.5 * (np.log(2 * np.pi * spread) + residual**2 / spread)
        return LeaveOneOut(self.y - residual, variance, density)

    def paths(self, x: Num[Array | np.ndarray, "m ..."], count: int, *, key: PRNGKeyArray) -> Paths:
        """Functions drawn from the posterior (one output), at the rows of x."""
        covariance, m = self.covariance(x), len(x)
        # A difference of two matrices has the rounding of the larger one.
        rounding = m * float(np.finfo(covariance.dtype).eps * np.max(diagonal_of(self.kernel, as_points(x))))
        drawn = gaussian_paths(covariance + rounding * np.eye(m, dtype=covariance.dtype), count, key=key)
        return Paths(self.mean(x) + drawn.values, rounding + drawn.jitter)


def gp_regression(kernel: Gram, x: Points, y: Targets, noise: float) -> ProcessPosterior:
    """Condition the process F ~ GP(0, k) on yᵢ = F(xᵢ) + N(0, noise); `noise` is a variance.

    With noise = nγ the posterior mean is `kernel_ridge` with the penalty γ. A K + noise·I that is not positive definite
    raises ValueError with the eigenvalue in the way (Rasmussen and Williams 2006, algorithm 2.1).

    >>> k = lambda a, b: np.exp(-(a - b.T) ** 2 / 2)
    >>> posterior = gp_regression(k, np.zeros((1, 1)), np.array([2.0]), 1.0)
    >>> far = np.array([[0.0], [9.0]])
    >>> posterior.mean(far).round(4).tolist(), posterior.variance(far).round(4).tolist()
    ([1.0, 0.0], [0.5, 1.0])
    """
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"gp_regression got the noise variance {noise}; give a finite number of at least 0.")
    x, y, K = sample_gram(kernel, x, y)
    factor = factorise(K, float(noise))
    return ProcessPosterior(kernel, x, y, float(noise), factor, factor.solve(y))


def prior_paths(kernel: Gram, x: Points, count: int, *, key: PRNGKeyArray) -> Paths:
    """Functions drawn from GP(0, k) at the rows of x, by the Cholesky factor of their Gram matrix."""
    x = as_points(x)
    return gaussian_paths(kernel(x, x), count, key=key)


def gaussian_paths(covariance: Float[Array | np.ndarray, "m m"], count: int, *, key: PRNGKeyArray) -> Paths:
    """N(0, covariance), `count` times; the jitter that rounding made necessary is reported, usually about 1e-13.

    >>> import jax
    >>> paths = gaussian_paths(np.eye(3), 2, key=jax.random.key(0))
    >>> paths.values.shape, paths.jitter
    ((2, 3), 0.0)
    """
    if count < 1:
        raise ValueError(f"gaussian_paths got count = {count}; draw at least one path.")
    covariance = np.asarray(covariance)
    jitter = least_jitter(covariance)
    lower = np.linalg.cholesky(covariance + jitter * np.eye(len(covariance), dtype=covariance.dtype))
    noise = generator(key).normal(size=(count, len(covariance))).astype(covariance.dtype)
    return Paths(noise @ lower.T, jitter)
