"""The classifiers of the digits that the entries attack: a network, a softmax regression; trained once, remembered."""

from functools import cache, partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.robustness.linear_distances import LinearScores

EPOCHS = 60
BATCH = 64


class LabelledImages(NamedTuple):
    """Images (n, 64) with pixels in [0, 1] and their labels."""

    images: np.ndarray
    labels: np.ndarray

    def first(self, count: int) -> "LabelledImages":
        return LabelledImages(self.images[:count], self.labels[:count])


def digit_scores(net: eqx.Module, images: jax.Array | np.ndarray) -> jax.Array:
    """The scores of a batch: what every attack and certificate is given, with the network as its parameters."""
    return jax.vmap(net)(images)


@cache
def standard_network(seed: int = 0) -> networks.MLP:
    """The MLP 64-128-128-10, ReLU: Adam at 1e-3, 60 epochs of batches of 64, in single precision."""
    return training.remembered(_standard_training, untrained_network(dtype=float), seed=seed)


def _standard_training(seed: int) -> networks.MLP:
    images, labels, *_ = data.digits_split()
    rows, steps = (jnp.asarray(images, jnp.float32), jnp.asarray(labels)), EPOCHS * len(labels) // BATCH
    options = {"batch": BATCH, "key": jax.random.key(seed)}
    net, _ = training.minimise(cross_entropy, untrained_network(seed), optax.adam(1e-3), steps, *rows, **options)
    return jax.tree.map(lambda a: a.astype(float), net)


@cache
def softmax_regression() -> LinearScores:
    """Softmax regression with a small ridge by scikit-learn: W and b."""
    from sklearn.linear_model import LogisticRegression

    images, labels, *_ = data.digits_split()
    fitted = LogisticRegression(C=10.0, max_iter=300).fit(images, labels)
    return LinearScores(fitted.coef_, fitted.intercept_)


def untrained_network(seed: int = 0, dtype=jnp.float32) -> networks.MLP:
    """The MLP 64-128-128-10, in single precision unless told otherwise, drawn by He's rule with NumPy."""
    return drawn(np.random.default_rng(seed), partial(networks.MLP, (64, 128, 128, 10), dtype=dtype), bias_scale=0.0)


def test_images() -> LabelledImages:
    """The test digits in double precision."""
    _, _, images, labels = data.digits_split()
    return LabelledImages(images, labels)


def correct_images(net: eqx.Module, count: int) -> LabelledImages:
    """The first test digits that a network gets right."""
    images, labels = test_images()
    right = np.flatnonzero(decisions(net, images) == labels)[:count]
    return LabelledImages(images[right], labels[right])


def decisions(net: eqx.Module, images: jax.Array | np.ndarray) -> np.ndarray:
    """The class of each image."""
    return np.asarray(_scores(net, jnp.asarray(images)).argmax(axis=1))


_scores = eqx.filter_jit(digit_scores)
