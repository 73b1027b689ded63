"""Small logistic regressions, and the buffers of a run on them replayed from its points."""

import numpy as np
from scipy.special import expit

from leadline import optimisation


def ridge_logistic(rng: np.random.Generator, samples: int, features: int, penalty: float) -> optimisation.LogisticRidge:
    """Gaussian inputs, labels of a logistic model."""
    x = rng.standard_normal((samples, features))
    y = np.where(rng.random(samples) < expit(x @ rng.standard_normal(features)), 1.0, -1.0)
    return optimisation.LogisticRidge(x, y, penalty)


def replayed_buffer(
    task: optimisation.LogisticRidge, points: np.ndarray, indices: np.ndarray, t: int
) -> tuple[np.ndarray, np.ndarray]:
    """The buffer (n, p) that a run with these points has before step t, and the age of its entries in steps."""
    rows = np.arange(len(task.y))
    seen = np.zeros(len(rows), int)  # the buffer starts with the gradients at w⁰
    np.maximum.at(seen, indices[:t], np.arange(t))
    return task.sample_gradients(np.asarray(points)[seen])[rows, rows], t - seen
