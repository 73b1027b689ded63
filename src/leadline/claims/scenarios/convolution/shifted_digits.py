"""Classifiers of the digits in a frame of zeros, in which they can be shifted; each trained once and remembered."""

from collections.abc import Callable
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.convolution import ConvLayer, ConvNetwork, DenseLayer, GlobalPool, PoolLayer
from leadline.convolution.pooling.maxout_networks import MaxoutNetwork

from .framed_digits import SIDE, framed_digits

STEPS = 400


class Flat(eqx.Module):
    """A network of rows of numbers, on an image."""

    net: networks.MLP

    def __call__(self, x):
        return self.net(x.ravel())


@cache
def framed_classifier(kind: str) -> Callable:
    """A trained network of one image (1, 12, 12): "pooled", "dense head", "one number", "MLP" or "maxout".

    The first three have circular 3 × 3 convolutions with 16, 32 and 32 channels, and end in a maximum over positions
    of each channel, in a dense layer on all positions, or in one number, the mean of one map. MLP and maxout are dense.
    The first and the last two have about 14,000 parameters. Adam at 3e-3, 400 batches of 64.
    """
    return training.remembered(_trained, _start(kind), kind=kind)


@eqx.filter_jit
def framed_scores(net: Callable, images: jax.Array | np.ndarray) -> jax.Array:
    """The scores of images (n, 12, 12)."""
    return jax.vmap(net)(jnp.asarray(images)[:, None])


def _start(kind: str) -> Callable:
    key, shape, dtype = jax.random.key(0), (1, SIDE, SIDE), jnp.float32
    if kind == "MLP":
        return Flat(networks.MLP((SIDE**2, 64, 64, 10), dtype=dtype, key=key))
    if kind == "maxout":
        return MaxoutNetwork((SIDE**2, 37, 37, 10), pieces=2, dtype=dtype, key=key)
    heads = {"pooled": [GlobalPool("max")], "dense head": [], "one number": [ConvLayer(1, 1), GlobalPool("mean")]}
    circular = [ConvLayer(channels, 3, padding="same", wrap=True) for channels in (16, 32, 32)]
    return ConvNetwork([*circular, *heads[kind], DenseLayer(10)], shape, dtype=dtype, key=key)


def _trained(kind: str) -> Callable:
    x, y, *_ = framed_digits()
    rows, key = (jnp.asarray(x)[:, None], jnp.asarray(y)), jax.random.key(1)
    return training.minimise(cross_entropy, _start(kind), optax.adam(3e-3), STEPS, *rows, batch=64, key=key)[0]


@cache
def pooled_networks(stride: int, seeds: int) -> ConvNetwork:
    """A stack of networks of 8 × 8 digits: 16 circular 3 × 3 maps, maxima of windows of `stride`, a dense layer."""
    return training.remembered(_pooled, _pooled_starts(stride, seeds), stride=stride, seeds=seeds)


def _pooled(stride: int, seeds: int) -> ConvNetwork:
    x, y, *_ = data.digits_split()
    rows = jnp.asarray(x.reshape(-1, 1, 8, 8), jnp.float32), jnp.asarray(y)

    def one(net: ConvNetwork, key: jax.Array) -> ConvNetwork:
        return training.minimise(cross_entropy, net, optax.adam(3e-3), STEPS, *rows, batch=64, key=key)[0]

    keys = jax.random.split(jax.random.key(1), seeds)
    return eqx.filter_jit(eqx.filter_vmap(one))(_pooled_starts(stride, seeds), keys)


def _pooled_starts(stride: int, seeds: int) -> ConvNetwork:
    layers = [ConvLayer(16, 3, padding="same", wrap=True), PoolLayer(stride), DenseLayer(10)]

    def one(key: jax.Array) -> ConvNetwork:
        return ConvNetwork(layers, (1, 8, 8), dtype=jnp.float32, key=key)

    return eqx.filter_vmap(one)(jax.random.split(jax.random.key(0), seeds))
