"""Small logistic regressions with everything known, and the buffers of a run replayed from its points."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from leadline import optimisation, stochastic
from leadline.stochastic.problems.linear_loss import logistic_of_score


class RidgeLogistic(NamedTuple):
    """A ridge-penalised logistic regression as a finite sum, its constants and its minimiser."""

    problem: stochastic.FiniteSum
    x: np.ndarray
    y: np.ndarray
    penalty: float
    smoothness: float  # L_max
    minimiser: np.ndarray
    minimum: float

    def gradients(self, w: np.ndarray) -> np.ndarray:
        """All gradients at w (p,) or at many points (..., p): (..., n, p), in closed form."""
        pull = -self.y / (1 + np.exp(self.y * (w @ self.x.T)))
        return pull[..., None] * self.x + self.penalty * np.asarray(w)[..., None, :]

    def gap(self, w: np.ndarray) -> np.ndarray:
        loss = np.logaddexp(0, -self.y * (w @ self.x.T)).mean(axis=-1)
        return loss + self.penalty * (np.asarray(w) ** 2).sum(axis=-1) / 2 - self.minimum


def ridge_logistic_on(x: np.ndarray, y: np.ndarray, penalty: float) -> RidgeLogistic:
    known = optimisation.LogisticRidge(x, y, penalty).constants()
    loss = stochastic.LinearLoss(logistic_of_score, jnp.asarray(penalty), 1)
    roughest = float((x**2).sum(axis=1).max() / 4 + penalty)
    problem = stochastic.FiniteSum(loss, (x, y))
    return RidgeLogistic(problem, x, y, penalty, roughest, known.minimiser, known.minimum)


def ridge_logistic(rng: np.random.Generator, samples: int, features: int, penalty: float) -> RidgeLogistic:
    """Gaussian inputs, labels of a logistic model."""
    x = rng.standard_normal((samples, features))
    y = np.where(rng.random(samples) < 1 / (1 + np.exp(-x @ rng.standard_normal(features))), 1.0, -1.0)
    return ridge_logistic_on(x, y, penalty)


def replayed_buffer(
    task: RidgeLogistic, points: np.ndarray, indices: np.ndarray, t: int
) -> tuple[np.ndarray, np.ndarray]:
    """The buffer (n, p) that a run with these points has before step t, and the age of its entries in steps."""
    seen = np.zeros(len(task.y), int)  # the buffer starts with the gradients at w⁰
    np.maximum.at(seen, indices[:t], np.arange(t))
    places, rows = np.asarray(points)[seen], np.arange(len(task.y))
    pull = -task.y / (1 + np.exp(task.y * np.sum(places * task.x, axis=1)))
    return pull[:, None] * task.x[rows] + task.penalty * places, t - seen
