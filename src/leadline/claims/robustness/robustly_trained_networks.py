"""Classifiers of the digits trained against changes of the inputs; each once a process."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.robustness.trained_networks import digit_scores, standard_network

EPS = 0.1
TRAININGS = ("standard", "adversarial", "interval")


@cache
def adversarial_network(eps: float = EPS, epochs: int = 60, width: int = 128, seed: int = 0) -> networks.MLP:
    """The MLP 64-width-width-10 trained on what 7 steps of PGD within ±eps find, pixels in [0, 1]."""
    images, labels, *_ = data.digits_split()
    found = robustness.adversarial_training(
        digit_scores, _start(width, seed), images, labels, eps=eps, epochs=epochs, low=0.0, high=1.0,
        key=jax.random.key(seed + 1000),
    )  # fmt: skip
    return _double(found.params)


@cache
def interval_network(eps: float = EPS, epochs: int = 100, width: int = 128, seed: int = 0) -> networks.MLP:
    """The same trained on worst-case logits over ±eps, which grows from 0 during the first half."""
    images, labels, *_ = data.digits_split()
    found = robustness.interval_training(
        digit_scores, _start(width, seed), images, labels, eps=eps, epochs=epochs, key=jax.random.key(seed + 1000)
    )
    return _double(found.params)


def trained_for(training: str, seed: int = 0) -> networks.MLP:
    """One of the three trainings of the MLP 64-128-128-10."""
    makers = {"standard": standard_network, "adversarial": adversarial_network, "interval": interval_network}
    return makers[training](seed=seed)


def attacked_accuracy(net: networks.MLP, eps: float, key: jax.Array, steps: int = 40, starts: int = 3) -> np.ndarray:
    """Whether each test digit withstands PGD within ±eps, pixels in [0, 1]."""
    _, _, images, labels = data.digits_split()
    found = robustness.pgd(
        digit_scores, net, images, labels, eps, steps=steps, starts=starts, key=key, low=0.0, high=1.0
    )
    return ~np.asarray(found.fooled)


def certified_accuracy(net: networks.MLP, eps: float) -> np.ndarray:
    """Whether interval bounds certify each test digit within ±eps, pixels in [0, 1]."""
    _, _, images, labels = data.digits_split()
    return np.asarray(robustness.certified(digit_scores, net, images, labels, eps, pixels=(0.0, 1.0)))


def _start(width: int, seed: int) -> networks.MLP:
    return networks.MLP((64, width, width, 10), "relu", dtype=jnp.float32, key=jax.random.key(seed))


def _double(net: networks.MLP) -> networks.MLP:
    return jax.tree.map(lambda a: a.astype(jnp.float64), net)
