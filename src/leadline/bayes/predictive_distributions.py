"""Predictions averaged over a posterior: in closed form for the linear model, from weighted draws for any other."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from leadline.learning.regression.gaussian_model import Posterior


class LinearPredictive(NamedTuple):
    """y|x, D ~ N(mean, spread + σ²): `spread` = xᵀSx is what the posterior leaves open, σ² the noise of a datum."""

    mean: Float[np.ndarray, " m"]
    spread: Float[np.ndarray, " m"]
    noise: float

    @property
    def variance(self) -> Float[np.ndarray, " m"]:
        return self.spread + self.noise

    def band(self, level: float = 0.95) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """The central interval of a new datum."""
        from scipy.special import ndtri

        half = ndtri(0.5 + level / 2) * np.sqrt(self.variance)
        return self.mean - half, self.mean + half


def linear_predictive(posterior: Posterior, x: Num[Array | np.ndarray, "m d"], *, sigma: float) -> LinearPredictive:
    """p(y|x, D) = ∫p(y|x, θ)p(θ|D)dθ = N(m·x, xᵀSx + σ²) for a Gaussian posterior N(m, S) over linear weights.

    >>> law = linear_predictive(Posterior(np.ones(1), np.eye(1)), np.array([[2.0]]), sigma=1.0)
    >>> law.mean.tolist(), law.variance.tolist()
    ([2.0], [5.0])
    """
    x = np.asarray(x, float)
    return LinearPredictive(x @ posterior.mean, np.sum(x @ posterior.covariance * x, axis=1), float(sigma**2))


class WeightedDraws(NamedTuple):
    """Mean and variance of f under the distribution that weighted draws stand for, and the effective draws."""

    mean: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]
    effective_size: float


def average_draws(
    values: Num[Array | np.ndarray, "draws m"], log_weights: Num[Array | np.ndarray, " draws"] | None = None
) -> WeightedDraws:
    """Σ wₛ f_θₛ(x) with weights that sum to 1, and the variance about it.

    Draws of the posterior have EQUAL weights (none given). Draws of the prior are weighted by the likelihood, draws of
    a uniform distribution by the posterior density. Posterior draws weighted by that density stand for p², not p.

    >>> values = np.array([[0.0], [2.0]])
    >>> average_draws(values).mean.tolist(), average_draws(values, np.log([3.0, 1.0])).mean.tolist()
    ([1.0], [0.5])
    """
    from scipy.special import softmax

    values = np.asarray(values, float)
    log_weights = np.zeros(len(values)) if log_weights is None else np.asarray(log_weights, float)
    if log_weights.shape != (len(values),) or not np.isfinite(log_weights.max()):
        raise ValueError(
            f"average_draws got weights of shape {log_weights.shape}; give one finite logarithm for each draw."
        )
    w = softmax(log_weights)
    mean = w @ values
    return WeightedDraws(mean, w @ (values - mean) ** 2, float(1 / np.sum(w**2)))
