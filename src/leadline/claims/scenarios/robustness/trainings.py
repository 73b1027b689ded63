"""Classifiers of the digits trained against changes of the inputs; each once, and remembered."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness, training
from leadline.claims.scenarios.robustness.digits import digit_scores, standard_network, untrained_network
from leadline.robustness.certificates.interval_certificates import certified

EPS = 0.1
TRAININGS = ("standard", "adversarial", "interval")


@cache
def adversarial_network(eps: float = EPS, epochs: int = 60, seed: int = 0) -> networks.MLP:
    """The MLP 64-128-128-10 trained on what 7 steps of PGD within ±eps find, pixels in [0, 1]."""
    like = untrained_network(dtype=float)
    return training.remembered(_robust_training, like, method="adversarial", eps=eps, epochs=epochs, seed=seed)


@cache
def interval_network(eps: float = EPS, epochs: int = 100, seed: int = 0) -> networks.MLP:
    """The same trained on worst-case logits over ±eps, which grows from 0 during the first half."""
    like = untrained_network(dtype=float)
    return training.remembered(_robust_training, like, method="interval", eps=eps, epochs=epochs, seed=seed)


def trained_for(method: str, seed: int = 0) -> networks.MLP:
    """One of the three trainings of the MLP 64-128-128-10."""
    makers = {"standard": standard_network, "adversarial": adversarial_network, "interval": interval_network}
    return makers[method](seed=seed)


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
    return np.asarray(certified(digit_scores, net, images, labels, eps, box=robustness.Box(0.0, 1.0)))


def _robust_training(method: str, eps: float, epochs: int, seed: int) -> networks.MLP:
    start = networks.MLP((64, 128, 128, 10), "relu", dtype=jnp.float32, key=jax.random.key(seed))
    images, labels, *_ = data.digits_split()
    given = (digit_scores, start, images, labels)
    options = {"eps": eps, "epochs": epochs, "key": jax.random.key(seed + 1000)}
    if method == "adversarial":
        found = robustness.adversarial_training(*given, box=robustness.Box(0.0, 1.0), **options)
    else:
        found = robustness.interval_training(*given, **options)
    return jax.tree.map(lambda a: a.astype(jnp.float64), found.params)
