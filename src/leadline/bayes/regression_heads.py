"""The exact Bayesian posterior of the last layer of a regressor: linear in its weights, with Gaussian noise."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from leadline.learning import gaussian_posterior
from leadline.learning.regression.gaussian_model import Posterior

from .linear_posteriors import maximise_linear_evidence
from .predictive_distributions import LinearPredictive, linear_predictive


class RegressionHead(NamedTuple):
    """For every output its posterior over the weights (d), its noise σ, prior precision α and log evidence."""

    posteriors: tuple[Posterior, ...]
    sigmas: Float[np.ndarray, " k"]
    alphas: Float[np.ndarray, " k"]
    log_evidence: float
    effective_parameters: float

    def predict(self, features: Float[np.ndarray, "m d"]) -> tuple[LinearPredictive, ...]:
        """The predictive distribution of every output at every row."""
        return tuple(
            linear_predictive(posterior, features, sigma=float(sigma))
            for posterior, sigma in zip(self.posteriors, self.sigmas, strict=True)
        )


def last_layer_regression(
    features: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, "n k"],
    *,
    alpha: float | None = None,
    sigma: float | None = None,
) -> RegressionHead:
    """The posterior of W in y = Wφ + N(0, σ²) under W ~ N(0, I/α), each output on its own; no approximation in W.

    What is not given of α and σ maximises the evidence.

    >>> head = last_layer_regression(np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]]), alpha=1.0, sigma=1.0)
    >>> head.posteriors[0].mean.tolist(), head.posteriors[0].covariance.tolist()
    ([1.5], [[0.25]])
    """
    from .linear_posteriors import linear_log_evidence

    features, targets = np.asarray(features, float), np.asarray(targets, float)
    if targets.ndim != 2 or len(targets) != len(features):
        raise ValueError(
            f"last_layer_regression got features {features.shape}, targets {targets.shape}; give (n, d), (n, k)."
        )
    if alpha is not None and sigma is None:
        raise ValueError("last_layer_regression got a prior precision without a noise; give sigma too, or neither.")
    posteriors, sigmas, alphas, total, determined = [], [], [], 0.0, 0.0
    for column in targets.T:
        if alpha is None or sigma is None:
            best = maximise_linear_evidence(features, column, sigma=sigma)
            a, s, evidence, gamma = best
        else:
            a, s = alpha, float(sigma)
            evidence = linear_log_evidence(features, column, sigma=s, alpha=a)
            values = np.linalg.svd(features, compute_uv=False) ** 2
            gamma = float(np.sum(values / (values + a * s**2)))
        posteriors.append(gaussian_posterior(features, column, sigma=s, prior_variance=1 / a))
        sigmas.append(s)
        alphas.append(a)
        total += evidence
        determined += gamma
    return RegressionHead(tuple(posteriors), np.array(sigmas), np.array(alphas), total, determined)
