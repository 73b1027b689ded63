"""A two-layer network whose first layer is drawn at random and frozen: linear in what is trained."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator

from .linear import LinearFit, least_squares


class RandomFeatures(NamedTuple):
    """x ↦ φ(W x + b), with W (p, d) and b (p) drawn once."""

    weights: Float[np.ndarray, "p d"]
    biases: Float[np.ndarray, " p"]
    phi: Callable

    def __call__(self, x: Float[Array | np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        return np.asarray(self.phi(np.asarray(x) @ self.weights.T + self.biases))


def draw_features(
    inputs: int,
    features: int,
    phi: Callable,
    *,
    bias_scale: float = 1.0,
    key: PRNGKeyArray,
    dtype: type = np.float64,
) -> RandomFeatures:
    """p random features of d inputs: W with entries N(0, 1/d), b with entries N(0, bias_scale²).

    >>> import jax
    >>> draw_features(3, 5, np.tanh, key=jax.random.key(0))(np.ones((2, 3))).shape
    (2, 5)
    """
    if min(inputs, features) < 1:
        raise ValueError(f"draw_features got {inputs} inputs and {features} features; both must be positive.")
    rng = generator(key)
    weights = rng.standard_normal((features, inputs)) / inputs**0.5
    return RandomFeatures(weights.astype(dtype), (bias_scale * rng.standard_normal(features)).astype(dtype), phi)


def fit_readout(
    features: RandomFeatures,
    x: Float[Array | np.ndarray, "n d"],
    y: Float[Array | np.ndarray, " n"],
    *,
    ridge: float = 0.0,
) -> LinearFit:
    """The output weights of least ‖F w - y‖² + ridge ‖w‖², F the features of the n inputs; no output bias.

    Without a ridge they are those of least norm among the best, and interpolate every y iff F has rank n. With a
    ridge, w = Fᵀ(F Fᵀ + ridge I)⁻¹ y: a system of n equations however many features there are.

    >>> import jax
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> phi = draw_features(1, 3, np.tanh, key=jax.random.key(0))
    >>> fit = fit_readout(phi, x, np.array([1.0, -1.0, 1.0]))
    >>> fit.predict(phi(x)).round(6).tolist()
    [1.0, -1.0, 1.0]
    """
    if ridge < 0:
        raise ValueError(f"fit_readout got ridge = {ridge}; it must be at least 0.")
    matrix, y = features(x), np.asarray(y)
    if ridge == 0:
        return least_squares(matrix, y, intercept=False)
    from scipy.linalg import solve

    gram = matrix @ matrix.T
    gram[np.diag_indices_from(gram)] += ridge
    return LinearFit(matrix.T @ solve(gram, y.astype(gram.dtype), assume_a="pos"), 0.0)
