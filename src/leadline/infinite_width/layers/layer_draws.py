"""Random networks of finite width, seen at a few inputs: drawn layer by layer, without their weight matrices."""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Real

from leadline.data import generator
from leadline.networks import activation as activation_called, gaussian_expectation

_CHUNK = 2**23  # numbers drawn at a time


def draw_outputs(
    x: Float[Array | np.ndarray, "n d"],
    widths: Sequence[int],
    activation: str | Callable = "relu",
    *,
    networks: int,
    W_std: float = 1.0,
    b_std: float = 0.0,
    key: PRNGKeyArray,
) -> Float[np.ndarray, "networks n"]:
    """Outputs at the rows of x of independent random networks with hidden layers of the given widths.

    Given the units φ(h) of a layer, those of the next are independent N(0, G) vectors over the inputs, with
    G = W_std² φ(h)ᵀφ(h)/m + b_std² (W_std² x.z/d + b_std² for the first): the distribution of `dense_stack` networks
    with Gaussian weights, exact at every width, at n normal draws a unit instead of m. At most a few dozen inputs at a
    time.

    >>> import jax
    >>> f = draw_outputs(np.eye(3), (16, 16), "tanh", networks=100, key=jax.random.key(0))
    >>> f.shape
    (100, 3)
    """
    if networks < 1 or any(width < 1 for width in widths):
        raise ValueError(f"draw_outputs got {networks} networks of widths {tuple(widths)}; all of them are at least 1.")
    phi = activation_called(activation) if isinstance(activation, str) else activation
    x = np.asarray(x, float)
    rng = generator(key)
    first = W_std**2 * x @ x.T / x.shape[1] + b_std**2
    size = max(1, _CHUNK // (max([1, *widths]) * len(x)))
    parts = []
    for begin in range(0, networks, size):
        covariance = np.broadcast_to(first, (min(size, networks - begin), *first.shape))
        for width in widths:
            h = rng.standard_normal((len(covariance), width, len(x))) @ _roots(covariance)
            units = np.asarray(phi(jnp.asarray(h)))
            covariance = W_std**2 * np.swapaxes(units, 1, 2) @ units / width + b_std**2
        parts.append((rng.standard_normal((len(covariance), 1, len(x))) @ _roots(covariance))[:, 0])
    return np.concatenate(parts)


def _roots(covariance: np.ndarray) -> np.ndarray:
    """Rᵀ with R Rᵀ = G for each matrix, singular ones included."""
    values, vectors = np.linalg.eigh(covariance)
    return np.sqrt(np.maximum(values, 0.0))[..., None] * np.swapaxes(vectors, -1, -2)


def output_kurtosis(
    activation: str | Callable, width: int | Real[np.ndarray, "..."], variance: float = 1.0
) -> Float[np.ndarray, "..."]:
    """E f⁴/(E f²)² of a network with one hidden layer of m units and Gaussian weights, at one input, no output bias.

    3 + (3/m)(E φ⁴/(E φ²)² - 1), φ taken at N(0, `variance`): f is Gaussian given the hidden units, whose mean square is
    an average of m independent terms. 3 + 6/m for linear and 3 + 15/m for rectified units.

    >>> float(output_kurtosis("relu", 10).round(6)), float(output_kurtosis("identity", 10).round(6))
    (4.5, 3.6)
    """
    phi = activation_called(activation) if isinstance(activation, str) else activation
    second = float(gaussian_expectation(lambda z: phi(z) ** 2, variance))
    fourth = float(gaussian_expectation(lambda z: phi(z) ** 4, variance))
    return np.asarray(3 + 3 / np.asarray(width, float) * (fourth / second**2 - 1))
