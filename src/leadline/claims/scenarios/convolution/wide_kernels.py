"""A network on the digits with 5 × 5 kernels, trained once and remembered, and its kernels cut off at a rank."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Int, PRNGKeyArray

from leadline import convolution, data, training
from leadline.convolution import ConvLayer, ConvNetwork, DenseLayer, GlobalPool, PoolLayer


def wide_kernel_network(key: PRNGKeyArray) -> ConvNetwork:
    """Two convolutions of 8 and 16 channels with 5 × 5 kernels on 8 × 8 digits, Adam at 0.003 for 12 epochs."""
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    return training.remembered(_trained, _untrained(jax.random.key(0)), seed=seed)


def scores_with_rank(network: ConvNetwork, ranks: Int[np.ndarray, " ranks"]) -> tuple[Int[np.ndarray, " _"], int]:
    """Test digits right with the trained kernels, then with all kernels cut off at each rank; and their number."""
    *_, images, labels = data.digits_split()
    images = jnp.asarray(images.reshape(-1, 1, 8, 8), jnp.float32)
    arrays, static = eqx.partition(network, eqx.is_inexact_array)

    @jax.jit
    def right(arrays: ConvNetwork) -> jax.Array:
        scores = jax.vmap(eqx.combine(arrays, static))(images)
        return (scores.argmax(-1) == labels).sum()

    cut = [jax.tree.map(lambda a, r=r: _cut(a, int(r)) if a.ndim == 4 else a, arrays) for r in ranks]
    return np.array([int(right(a)) for a in (arrays, *cut)]), len(labels)


def _cut(kernels: jax.Array, rank: int) -> jax.Array:
    flat = np.asarray(kernels, float).reshape(-1, *kernels.shape[2:])
    kept = np.stack([convolution.separable_sum(kernel, rank).kernel for kernel in flat])
    return jnp.asarray(kept.reshape(kernels.shape), kernels.dtype)


def _trained(seed: int) -> ConvNetwork:
    images, labels, *_ = data.digits_split()
    rows = images.reshape(-1, 1, 8, 8).astype(np.float32), labels
    first, second = jax.random.split(jax.random.key(seed))
    return training.fit(_untrained(first), rows, optimiser=optax.adam(3e-3), epochs=12, batch=64, key=second).model


def _untrained(key: PRNGKeyArray) -> ConvNetwork:
    layers = [ConvLayer(8, 5, padding=2), PoolLayer(2), ConvLayer(16, 5, padding=2), GlobalPool("max"), DenseLayer(10)]
    return ConvNetwork(layers, (1, 8, 8), dtype=jnp.float32, key=key)
