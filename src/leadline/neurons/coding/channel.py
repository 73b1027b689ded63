"""The binary symmetric channel, and how much can be sent over it."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, UInt32


def binary_symmetric_channel(
    bits: Integer[Array | np.ndarray, "*shape"], eps: float, *, key: PRNGKeyArray | UInt32[Array, "2"]
) -> Integer[Array, "*shape"]:
    """Flip every bit independently with probability ε.

    >>> binary_symmetric_channel(jnp.array([0, 1, 1]), 1.0, key=jax.random.key(0)).tolist()
    [1, 0, 0]
    """
    if not 0 <= eps <= 1:
        raise ValueError(f"The flip probability eps must lie between 0 and 1, and is {eps}.")
    return _flip(jnp.asarray(bits), eps, key)


@jax.jit
def _flip(bits: Integer[Array, "*shape"], eps: Float[Array, ""], key: PRNGKeyArray | UInt32[Array, "2"]) -> Array:
    return bits ^ jax.random.bernoulli(key, eps, bits.shape).astype(bits.dtype)


def binary_entropy(p: Float[Array | np.ndarray, "*shape"] | float) -> Float[Array, "*shape"]:
    """H₂(p) = -p log₂ p - (1-p) log₂(1-p), with 0 log 0 = 0.

    >>> float(binary_entropy(0.5))
    1.0
    """
    return _entropy(jnp.asarray(p))


@jax.jit
def _entropy(p: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return -(jax.scipy.special.xlogy(p, p) + jax.scipy.special.xlog1py(1 - p, -p)) / jnp.log(2.0)


def channel_capacity(eps: Float[Array | np.ndarray, "*shape"] | float) -> Float[Array, "*shape"]:
    """1 - H₂(ε): bits per use that the binary symmetric channel carries with arbitrarily small error (Shannon 1948).

    >>> round(float(channel_capacity(0.11)), 3)
    0.5
    """
    return 1 - binary_entropy(eps)
