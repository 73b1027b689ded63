"""Kernel logistic regression: its optimum by Newton, and stochastic gradient descent in its coincident forms."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Num, Real

from .expansion import Gram, Points
from .risk_minimisers import KernelMinimum, kernel_erm
from .support_vectors import Labels


class KernelDescent(NamedTuple):
    """β and the scores of the training points after each step."""

    betas: Float[np.ndarray, "steps n"]
    scores: Float[np.ndarray, "steps n"]

    @property
    def beta(self) -> Float[np.ndarray, " n"]:
        """β after the last step."""
        return self.betas[-1]


class FeatureDescent(NamedTuple):
    """w after the last step, and the scores of the training points after each."""

    weights: Float[np.ndarray, " p"]
    scores: Float[np.ndarray, "steps n"]


def kernel_logistic(kernel: Gram, x: Points, y: Labels, gamma: float) -> KernelMinimum:
    """argmin (1/n) Σ log(1 + exp(−yᵢ f(xᵢ))) + γ‖f‖²; the log odds of y = +1 are f(x). Labels −1 and +1.

    Without penalty there is no minimum on separable data; hence γ > 0.

    >>> fit = kernel_logistic(lambda a, b: a @ b.T, np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 0.25)
    >>> w = float(fit.scores[0])
    >>> bool(abs(0.5 * w - 1 / (1 + np.exp(w))) < 1e-12)  # 2γw = σ(−w)
    True
    """
    return kernel_erm(kernel, x, y, gamma, "logistic")


def kernel_logistic_descent(
    gram: Float[Array | np.ndarray, "n n"],
    y: Num[Array | np.ndarray, " n"],
    stream: Int[Array | np.ndarray, " steps"],
    step_size: float | Real[np.ndarray, " steps"],
    *,
    gamma: float = 0.0,
) -> KernelDescent:
    """For each i of the stream: β ← (1 − 2ηγ)β, then βᵢ += η yᵢ σ(−yᵢ(Gβ)ᵢ) with the score before; f = Σ βᵢ k(xᵢ, ·).

    Every example moves β, and β is real: unlike the perceptron's counts. Steps cost O(n) with G stored. η is a number
    or one for each step.

    >>> kernel_logistic_descent(np.eye(2), np.array([1.0, -1.0]), np.array([0, 1]), 2.0).beta.tolist()
    [1.0, -1.0]
    """
    from scipy.special import expit

    G, y = np.asarray(gram, float), _signs(y)
    beta, scores = np.zeros(len(y)), np.zeros(len(y))
    betas, history = np.empty((len(stream), len(y))), np.empty((len(stream), len(y)))
    for t, (i, eta) in enumerate(_steps(stream, step_size)):
        change = eta * y[i] * expit(-y[i] * scores[i])
        beta *= 1 - 2 * eta * gamma
        beta[i] += change
        scores = (1 - 2 * eta * gamma) * scores + change * G[:, i]
        betas[t], history[t] = beta, scores
    return KernelDescent(betas, history)


def feature_logistic_descent(
    features: Real[Array | np.ndarray, "n p"],
    y: Num[Array | np.ndarray, " n"],
    stream: Int[Array | np.ndarray, " steps"],
    step_size: float | Real[np.ndarray, " steps"],
    *,
    gamma: float = 0.0,
) -> FeatureDescent:
    """w ← (1 − 2ηγ)w + η y φ(x) σ(−y w·φ(x)) for each example of the stream, from w = 0.

    >>> feature_logistic_descent(np.eye(2), np.array([1.0, -1.0]), np.array([0, 1]), 2.0).weights.tolist()
    [1.0, -1.0]
    """
    from scipy.special import expit

    phi, y = np.asarray(features, float), _signs(y)
    w = np.zeros(phi.shape[1])
    history = np.empty((len(stream), len(y)))
    for t, (i, eta) in enumerate(_steps(stream, step_size)):
        w = (1 - 2 * eta * gamma) * w + eta * y[i] * expit(-y[i] * (phi[i] @ w)) * phi[i]
        history[t] = phi @ w
    return FeatureDescent(w, history)


def _steps(stream, step) -> Iterator[tuple[int, float]]:
    stream = np.asarray(stream)
    if len(stream) == 0:
        raise ValueError("Logistic descent got an empty stream of examples; give at least one index.")
    return zip(stream.tolist(), np.broadcast_to(step, stream.shape).tolist(), strict=True)


def _signs(y: Num[Array | np.ndarray, " n"]) -> np.ndarray:
    y = np.asarray(y, float)
    if not np.all(np.abs(y) == 1):
        raise ValueError("Logistic descent got labels other than -1 and +1; for labels t in {0, 1} pass 2 * t - 1.")
    return y
