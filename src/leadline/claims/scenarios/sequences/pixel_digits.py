"""Digits read as sequences of 64 pixels, and networks of seven kinds of cells that learned them; remembered."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, sequences, training

UNITS, BATCH, STEP_SIZE = 64, 64, 2e-3
#: name: the cell, and its options
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "logistic": ("elman", {"activation": "sigmoid"}),
    "tanh": ("elman", {"activation": "tanh"}),
    "ReLU": ("elman", {"activation": "relu"}),
    "GRU": ("gru", {}),
    "LSTM": ("lstm", {}),
    "minGRU": ("mingru", {"depth": 2, "residual": True}),
    "LRU": ("lru", {"r_min": 0.9, "r_max": 0.999, "depth": 2}),
}


def pixel_digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Four fifths of scikit-learn's digits to train on, stratified, and the rest: rows of 64 pixels in [0, 1]."""
    x, y = data.digits()
    split = learning.stratified_split(y, (0.8, 0.0, 0.2), key=jax.random.key(0))
    x = np.asarray(x, np.float32).reshape(len(x), 64)
    x = x / x.max()
    return x[split.train], y[split.train], x[split.test], y[split.test]


def untrained(kind: str, seed: int = 0) -> sequences.SequenceNetwork:
    """The network of a kind at its start: one cell of 64 units, read at the end.

    Those that are linear in their state stand in two residual blocks: alone, what a minGRU keeps of a pixel depends on
    that pixel and its age, and no unit sees two of them together.
    """
    name, options = KINDS[kind]
    with jax.enable_x64(False):
        key = jax.random.key(seed)
        return sequences.sequence_network(name, 1, UNITS, 10, reading="last", dtype=jnp.float32, key=key, **options)


@cache
def trained(kind: str, epochs: int = 60, seed: int = 0) -> sequences.SequenceNetwork:
    """After so many epochs of Adam in batches of 64, with gradients clipped at norm 1."""
    return training.remembered(_training, untrained(kind, seed), kind=kind, epochs=epochs, seed=seed)


def _training(kind: str, epochs: int, seed: int) -> sequences.SequenceNetwork:
    x, y, *_ = pixel_digits()
    decay = optax.cosine_decay_schedule(STEP_SIZE, epochs * (len(y) // BATCH))
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(decay))
    net = untrained(kind, seed)
    with jax.enable_x64(False):
        return training.fit(net, (x, y), optimiser=rule, epochs=epochs, batch=BATCH, key=jax.random.key(seed)).model
