"""A two-layer network whose first layer is drawn at random and frozen: linear in what is trained."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline._checks import require_numbers
from leadline.data import generator

from .linear import LinearFit, least_squares


class RandomFeatures(NamedTuple):
    """x ↦ φ(W x + b), with W (p, d) and b (p) drawn once.

    With features scaled by 1/√p, φ(x)·φ(z)/p tends to the kernel E φ(w·x + b) φ(w·z + b): see `estimated_kernel`.
    """

    weights: Float[np.ndarray, "p d"]
    biases: Float[np.ndarray, " p"]
    phi: Callable

    def __call__(self, x: Float[Array | np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        return np.asarray(self.phi(np.asarray(x) @ self.weights.T + self.biases))

    def first(self, features: int) -> "RandomFeatures":
        """The first few of these features: a smaller draw, nested in this one."""
        return self._replace(weights=self.weights[:features], biases=self.biases[:features])

    def estimated_kernel(
        self, x: Float[Array | np.ndarray, "m d"], z: Float[Array | np.ndarray, "n d"]
    ) -> Float[np.ndarray, "m n"]:
        """(1/p) Σ_k φ_k(x) φ_k(z): an unbiased estimate of the kernel by p draws."""
        return self(x) @ self(z).T / len(self.biases)


def relu(z: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """max(z, 0), in NumPy."""
    return np.maximum(z, 0)


def erf(z: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The error function, by SciPy."""
    from scipy.special import erf as scipy_erf

    return scipy_erf(z)


#: Names for the activations of frozen features; all are plain NumPy functions.
FEATURE_ACTIVATIONS: dict[str, Callable] = {"cos": np.cos, "erf": erf, "relu": relu, "sign": np.sign, "tanh": np.tanh}


def draw_features(
    inputs: int,
    features: int,
    phi: Callable | str,
    *,
    weight_scale: float | None = None,
    bias_scale: float = 1.0,
    key: PRNGKeyArray,
    dtype: type = np.float64,
) -> RandomFeatures:
    """p random features of d inputs: W with entries N(0, weight_scale²), b with entries N(0, bias_scale²).

    Without a weight_scale it is 1/√d. φ is a function of arrays or one of "cos", "erf", "relu", "sign", "tanh".

    >>> import jax
    >>> draw_features(3, 5, np.tanh, key=jax.random.key(0))(np.ones((2, 3))).shape
    (2, 5)
    """
    if min(inputs, features) < 1:
        raise ValueError(f"draw_features got {inputs} inputs and {features} features; both must be positive.")
    if isinstance(phi, str):
        if phi not in FEATURE_ACTIVATIONS:
            raise ValueError(
                f"draw_features got φ = {phi!r}; give a function or one of {', '.join(FEATURE_ACTIVATIONS)}."
            )
        phi = FEATURE_ACTIVATIONS[phi]
    rng = generator(key)
    weights = rng.standard_normal((features, inputs)) * (inputs**-0.5 if weight_scale is None else weight_scale)
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
    require_numbers("fit_readout", x=x, y=y)
    if ridge < 0:
        raise ValueError(f"fit_readout got ridge = {ridge}; it must be at least 0.")
    matrix, y = features(x), np.asarray(y)
    if ridge == 0:
        return least_squares(matrix, y, intercept=False)
    from scipy.linalg import solve

    gram = matrix @ matrix.T
    gram[np.diag_indices_from(gram)] += ridge
    return LinearFit(matrix.T @ solve(gram, y.astype(gram.dtype), assume_a="pos"), 0.0)


def expansion_readout(
    features: RandomFeatures,
    centres: Float[Array | np.ndarray, "n d"],
    alpha: Float[Array | np.ndarray, " coefficients"],
) -> LinearFit:
    """The output weights w_k = (1/p) Σ_j α_j φ_k(xⱼ) that give the kernel expansion Σ_j α_j k̂(xⱼ, ·).

    k̂ is the `estimated_kernel`; the features themselves are not scaled.

    >>> import jax
    >>> phi, x = draw_features(2, 7, "relu", key=jax.random.key(0)), np.eye(2)
    >>> fit = expansion_readout(phi, x, np.array([1.0, -2.0]))
    >>> bool(np.allclose(fit.predict(phi(x)), phi.estimated_kernel(x, x) @ np.array([1.0, -2.0])))
    True
    """
    matrix, alpha = features(centres), np.asarray(alpha)
    if len(alpha) != len(matrix):
        raise ValueError(
            f"expansion_readout got {len(matrix)} centres and {len(alpha)} coefficients; give one for each."
        )
    return LinearFit(alpha @ matrix / matrix.shape[1], 0.0)
