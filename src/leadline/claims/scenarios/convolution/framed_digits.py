"""The digits in a frame of zeros, dense networks trained on random copies of them, and a convolutional one."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import convolution, data, networks, training
from leadline.convolution import ConvLayer, DenseLayer, GlobalPool
from leadline.training.objectives import Sample, Supervised

SIDE = 12
BATCH = 100


class FramedDigits(NamedTuple):
    """Images (n, 12, 12) and their labels, to train on and to test."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


@cache
def framed_digits() -> FramedDigits:
    """The digits (n, 12, 12) in single precision, two pixels of zeros around: 1297 to train on, 500 to test."""
    train, train_labels, test, test_labels = data.digits_split()

    def framed(x):
        return np.pad(x.reshape(-1, 8, 8), ((0, 0), (2, 2), (2, 2))).astype(np.float32)

    return FramedDigits(framed(train), train_labels, framed(test), test_labels)


class Moved(eqx.Module):
    """The objective of cross-entropy on moved images: `move(key, image, state)`, with the state of each model."""

    move: Callable = eqx.field(static=True)
    inference: bool = False

    def __call__(self, model, batch, key, state):
        images, labels = batch
        if not self.inference:
            keys = jax.random.split(key, len(labels))
            images = jax.vmap(self.move, (0, 0, None))(keys, jnp.asarray(images), state)
        loss = Supervised(optax.softmax_cross_entropy_with_integer_labels)
        return loss(model, Sample(images, jnp.asarray(labels)), key, state)


def dense_networks(images, labels, move, states, *, epochs, width=64, rows=None, classes=10, key):
    """Dense networks (pixels, width, width, classes), trained at once, one for each state of `move`."""
    pixels = int(np.prod(images.shape[-2:]))
    keys = jax.random.split(key, len(states) + 1)
    nets = [networks.MLP((pixels, width, width, classes), dtype=jnp.float32, key=k) for k in keys[1:]]
    runs = training.fit_many(
        nets,
        (images.astype(np.float32), labels),
        objective=Moved(move),
        states=states,
        rows=rows,
        optimiser=optax.adam(2e-3),
        epochs=epochs,
        batch=BATCH,
        key=keys[0],
    )
    return [run.model for run in runs]


@eqx.filter_jit
def scores(net, images):
    """The scores of a batch of images."""
    return jax.vmap(net)(jnp.asarray(images, jnp.float32))


def accuracy(net, images, labels) -> float:
    """The share of images whose largest score is that of their label."""
    return float(np.mean(np.asarray(scores(net, images)).argmax(axis=1) == labels))


def untrained_convolutional(seed: int = 0) -> convolution.ConvNetwork:
    """Two circular 3x3 convolutions with 12 and 24 channels, the maximum over positions, a linear layer."""
    layers = [ConvLayer(12, 3, padding="same", wrap=True), ConvLayer(24, 3, padding="same", wrap=True)]
    layers += [GlobalPool("max"), DenseLayer(10)]
    return convolution.ConvNetwork(layers, (1, SIDE, SIDE), dtype=jnp.float32, key=jax.random.key(seed))


@cache
def convolutional_network(seed: int = 0):
    """The convolutional network trained on the framed digits without any augmentation; remembered."""
    return training.remembered(_convolutional, untrained_convolutional(), seed=seed)


def _convolutional(seed: int):
    split = framed_digits()
    run = training.fit(
        untrained_convolutional(seed),
        (split.train_images[:, None], split.train_labels),
        optimiser=optax.adam(5e-3),
        epochs=25,
        batch=BATCH,
        key=jax.random.key(seed),
    )
    return run.model
