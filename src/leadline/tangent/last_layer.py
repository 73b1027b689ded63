"""The last layer alone: Gram matrix of its features, the spectrum of that matrix, and its limit at infinite width."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require, require_numbers
from leadline.infinite_width import dense_stack
from leadline.infinite_width.activation_kernels.hermite import Elementwise
from leadline.networks import MLP, TwoLayer

from .two_layer import Inputs

_ROUNDING = 1e-12


class FeatureSpectrum(NamedTuple):
    """Eigenvalues of a Gram matrix of features, ascending, as many as there are points; and the numerical rank."""

    eigenvalues: Float[np.ndarray, " n"]
    rank: int

    @property
    def in_doubt(self) -> bool:
        """Whether λ_min/λ_max is below 1e-12, where rounding decides what the smallest eigenvalue is."""
        return bool(self.eigenvalues[0] < _ROUNDING * self.eigenvalues[-1])


def last_layer_features(network: Any, x: Inputs) -> Float[Array, "n m"]:
    """∂f/∂(last layer) at every row of x: the hidden features as the linear head sees them, scaled as in the network.

    For `TwoLayer` and for an `MLP` with one output; a bias in the head is one more feature.
    """
    if isinstance(network, TwoLayer):
        return _two_layer_features(network, x)
    if not isinstance(network, MLP) or network.last_activation or network.widths[-1] != 1 or len(network.layers) < 2:
        raise ValueError(
            f"last_layer_features got {type(network).__name__}; give a TwoLayer or an MLP with a hidden layer and a "
            "linear head of one output."
        )
    return _deep_features(network, x)


@eqx.filter_jit
def _two_layer_features(network: TwoLayer, x: Inputs) -> Float[Array, "n m"]:
    return network.scale * network.features(x)


@eqx.filter_jit
def _deep_features(network: MLP, x: Inputs) -> Float[Array, "n m"]:
    hidden = jax.vmap(lambda row: network.trace(row).post[-2])(jnp.asarray(x))
    scale, of_bias = network.scales()[-1]
    columns = [hidden * scale]
    if network.layers[-1].bias is not None:
        columns.append(jnp.full((len(hidden), 1), of_bias, hidden.dtype))
    return jnp.concatenate(columns, axis=1)


def last_layer_gram(network: Any, x: Inputs) -> Float[Array, "n n"]:
    """K̄_ij = Σ_k φ_k(x_i) φ_k(x_j), a sum of one rank-one matrix for every unit: the last layer's part of the NTK.

    The head fits any targets at the points exactly iff K̄ is nonsingular.

    >>> last_layer_gram(TwoLayer(jnp.eye(2), jnp.ones(2), "relu"), jnp.array([[1.0, -1.0], [2.0, 3.0]])).tolist()
    [[1.0, 2.0], [2.0, 13.0]]
    """
    require_numbers("last_layer_gram", x=x)
    features = last_layer_features(network, x)
    return features @ features.T


def feature_spectrum(features: Float[Array, "n m"] | Float[np.ndarray, "n m"]) -> FeatureSpectrum:
    """The eigenvalues of Φ Φᵀ as squared singular values of Φ: small ones keep twice the digits that Φ Φᵀ would leave.

    >>> feature_spectrum(np.array([[1.0, 0.0], [1.0, 1e-7]])).eigenvalues.tolist()[0].__round__(17)
    5e-15
    """
    phi = np.asarray(features, float)
    s = np.linalg.svd(phi, compute_uv=False)
    rank = int(np.sum(s > max(phi.shape) * np.finfo(float).eps * s[0])) if s.size else 0
    return FeatureSpectrum(np.concatenate([np.zeros(len(phi) - len(s)), s[::-1] ** 2]), rank)


def last_layer_limit(x: Inputs, activation: str | Callable = "tanh") -> Float[np.ndarray, "n n"]:
    """lim K̄/m = E φ(w·x_i) φ(w·x_j), w ~ N(0, I), for every pair of rows: a `TwoLayer`'s limit with s = 1.

    It is the Gaussian-process kernel of one infinitely wide layer; closed form or quadrature as in `infinite_width`.

    >>> last_layer_limit(np.eye(2), "relu").round(6).tolist()  # 1/2 and 1/(2π)
    [[0.5, 0.159155], [0.159155, 0.5]]
    """
    require("last_layer_limit", axes=2, x=x)
    x = np.asarray(x, float)
    layer = activation if isinstance(activation, str) else Elementwise(activation)
    stack = dense_stack(1, layer, first_W_std=x.shape[1] ** 0.5)
    return np.asarray(stack.kernel_fn(jnp.asarray(x), get="nngp"), float)
