"""Small logistic regressions."""

import numpy as np
from scipy.special import expit

from leadline import optimisation


def ridge_logistic(rng: np.random.Generator, samples: int, features: int, penalty: float) -> optimisation.LogisticRidge:
    """Gaussian inputs, labels of a logistic model."""
    x = rng.standard_normal((samples, features))
    y = np.where(rng.random(samples) < expit(x @ rng.standard_normal(features)), 1.0, -1.0)
    return optimisation.LogisticRidge(x, y, penalty)
