"""A network of framed digits with wide first windows, before and after training; remembered."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.convolution import ConvLayer, ConvNetwork, DenseLayer, GlobalPool, PoolLayer

from .framed_digits import SIDE, framed_digits
from .shifted_digits import STEPS

WINDOW = 7


def untrained_features(seed: int) -> ConvNetwork:
    """16 filters of 7 × 7, maxima of 2 × 2, 32 filters of 3 × 3, the maximum of each over positions, a dense layer."""
    layers = [ConvLayer(16, WINDOW, padding="same"), PoolLayer(2), ConvLayer(32, 3, padding="same")]
    layers += [GlobalPool("max"), DenseLayer(10)]
    return ConvNetwork(layers, (1, SIDE, SIDE), dtype=jnp.float32, key=jax.random.key(seed))


@cache
def feature_network(seed: int) -> ConvNetwork:
    """The same after 400 batches of 64 by Adam at 3e-3."""
    return training.remembered(_trained, untrained_features(seed), seed=seed)


def first_filters(net: ConvNetwork) -> np.ndarray:
    """The filters (16, 7, 7) of the first layer, in double precision."""
    return np.asarray(net.built[0].weight, float)[:, 0]


def patch_noise(count: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian filters (count, 7, 7) that are as smooth as the digits: with the second moments of their patches."""
    images, *_ = framed_digits()
    patches = np.lib.stride_tricks.sliding_window_view(images, (WINDOW, WINDOW), axis=(1, 2)).reshape(-1, WINDOW**2)
    moments = patches.astype(float).T @ patches / len(patches)
    return rng.multivariate_normal(np.zeros(WINDOW**2), moments, size=count).reshape(count, WINDOW, WINDOW)


def _trained(seed: int) -> ConvNetwork:
    x, y, *_ = framed_digits()
    rows, start, key = (jnp.asarray(x)[:, None], jnp.asarray(y)), untrained_features(seed), jax.random.key(1)
    return training.minimise(cross_entropy, start, optax.adam(3e-3), STEPS, *rows, batch=64, key=key)[0]
