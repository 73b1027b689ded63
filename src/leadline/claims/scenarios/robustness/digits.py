"""The classifiers of the digits that the entries attack: a network, a softmax regression; trained once, remembered."""

import warnings
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, training
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
    """The MLP 64-128-128-10, ReLU, by scikit-learn (nothing to compile): Adam at 1e-3, 60 epochs of batches of 64."""
    return training.remembered(_standard_training, untrained_network(dtype=float), seed=seed)


def _standard_training(seed: int) -> networks.MLP:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    images, labels, *_ = data.digits_split()
    often = {"max_iter": EPOCHS, "n_iter_no_change": EPOCHS, "tol": 0.0, "batch_size": BATCH, "random_state": seed}
    rule = MLPClassifier((128, 128), alpha=0.0, learning_rate_init=1e-3, **often)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped after EPOCHS on purpose
        fitted = rule.fit(images.astype(np.float32), labels)
    return _as_network([array for w, b in zip(fitted.coefs_, fitted.intercepts_, strict=True) for array in (w.T, b)])


@cache
def softmax_regression() -> LinearScores:
    """Softmax regression with a small ridge by scikit-learn: W and b."""
    from sklearn.linear_model import LogisticRegression

    images, labels, *_ = data.digits_split()
    fitted = LogisticRegression(C=10.0, max_iter=300).fit(images, labels)
    return LinearScores(fitted.coef_, fitted.intercept_)


def untrained_network(seed: int = 0, dtype=jnp.float32) -> networks.MLP:
    """The MLP 64-128-128-10, in single precision unless told otherwise, drawn by He's rule with NumPy."""
    rng = np.random.default_rng(seed)
    sizes = ((128, 64), (128, 128), (10, 128))
    arrays = [a for n, m in sizes for a in (rng.normal(size=(n, m)) * np.sqrt(2 / m), np.zeros(n))]
    return jax.tree.map(lambda a: a.astype(dtype), _as_network(arrays))


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


def _as_network(arrays: list[np.ndarray]) -> networks.MLP:
    """An MLP with these weights and biases, layer by layer."""
    widths = (arrays[0].shape[1], *(len(bias) for bias in arrays[1::2]))
    blank = eqx.filter_eval_shape(networks.MLP, widths, "relu", key=jax.random.key(0))  # draws nothing
    return jax.tree.unflatten(jax.tree.structure(blank), [jnp.asarray(array, float) for array in arrays])
