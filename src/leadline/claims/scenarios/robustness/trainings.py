"""Classifiers of the digits trained against changes of the inputs; each once a process."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.scenarios.robustness.digits import digit_scores, standard_network

EPS = 0.1
TRAININGS = ("standard", "adversarial", "interval")


@cache
def adversarial_network(eps: float = EPS, epochs: int = 60, seed: int = 0) -> networks.MLP:
    """The MLP 64-128-128-10 trained on what 7 steps of PGD within ±eps find, pixels in [0, 1]."""
    return _trained(robustness.adversarial_training, seed, eps=eps, epochs=epochs, box=robustness.Box(0.0, 1.0))


@cache
def interval_network(eps: float = EPS, epochs: int = 100, seed: int = 0) -> networks.MLP:
    """The same trained on worst-case logits over ±eps, which grows from 0 during the first half."""
    return _trained(robustness.interval_training, seed, eps=eps, epochs=epochs)


def trained_for(training: str, seed: int = 0) -> networks.MLP:
    """One of the three trainings of the MLP 64-128-128-10."""
    makers = {"standard": standard_network, "adversarial": adversarial_network, "interval": interval_network}
    return makers[training](seed=seed)


def attacked_accuracy(
    net: networks.MLP, eps: float, key: jax.Array, num_steps: int = 40, starts: int = 3
) -> np.ndarray:
    """Whether each test digit withstands PGD within ±eps, pixels in [0, 1]."""
    _, _, images, labels = data.digits_split()
    options = {"num_steps": num_steps, "starts": starts, "key": key, "box": robustness.Box(0.0, 1.0)}
    return ~np.asarray(robustness.pgd(digit_scores, net, images, labels, eps, **options).fooled)


def certified_accuracy(net: networks.MLP, eps: float) -> np.ndarray:
    """Whether interval bounds certify each test digit within ±eps, pixels in [0, 1]."""
    _, _, images, labels = data.digits_split()
    return np.asarray(robustness.certified(digit_scores, net, images, labels, eps, box=robustness.Box(0.0, 1.0)))


def _trained(train: Callable, seed: int, **options: Any) -> networks.MLP:
    start = networks.MLP((64, 128, 128, 10), "relu", dtype=jnp.float32, key=jax.random.key(seed))
    images, labels, *_ = data.digits_split()
    found = train(digit_scores, start, images, labels, key=jax.random.key(seed + 1000), **options)
    return jax.tree.map(lambda a: a.astype(jnp.float64), found.params)
