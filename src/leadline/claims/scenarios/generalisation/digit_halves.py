"""The task of the PAC-Bayes entries: digits 0-4 against 5-9, a network 64-64-1 in single precision."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, training


class DigitHalves(NamedTuple):
    """Images of digits and whether they are 5 or more; 1437 for training and 360 for testing."""

    inputs: np.ndarray
    labels: np.ndarray
    test_inputs: np.ndarray
    test_labels: np.ndarray


def digit_halves(rng) -> DigitHalves:
    """A random split of the 1797 digits; pixels centred and scaled by constants, not by the data."""
    x, y = data.digits()
    order = rng.permutation(len(y))
    x, y = ((x[order] - 0.3) / 0.2).astype(np.float32), (y[order] >= 5).astype(np.int32)
    return DigitHalves(x[:1437], y[:1437], x[1437:], y[1437:])


def drawn_weights(rng, hidden: int = 64) -> tuple:
    """He's start of the network 64-hidden-1: 4225 parameters at 64 hidden units."""
    first, second = rng.normal(size=(64, hidden)) * np.sqrt(2 / 64), rng.normal(size=(hidden, 1)) * np.sqrt(2 / hidden)
    return tuple(jnp.asarray(a, jnp.float32) for a in (first, np.zeros(hidden), second, np.zeros(1)))


def scores(params, inputs):
    """The score of "5 or more", one column."""
    a, b, c, d = params
    return jax.nn.relu(inputs @ a + b) @ c + d


def logistic(params, inputs, labels):
    """Mean logistic loss over ln 2: above the 0-1 error."""
    return jnp.mean(jax.nn.softplus(-(2 * labels - 1) * scores(params, inputs)[:, 0])) / np.log(2)


def half_logistic(params, inputs, labels):
    """Half of it: nearer to the 0-1 error where that is small, so that the bound is better in the end."""
    return 0.5 * logistic(params, inputs, labels)


def fitted_weights(start, inputs, labels, num_steps: int = 150) -> tuple:
    """The network after so many steps of Adam at 0.003 on all rows, from `start`."""

    def loss(params, inputs, labels):
        return np.log(2) * logistic(params, inputs, labels)

    wide = tuple(a.astype(float) for a in start)  # squared slopes are too small for float32
    end, _ = training.minimise(loss, wide, optax.adam(3e-3), num_steps, jnp.asarray(inputs, float), jnp.asarray(labels))
    return tuple(a.astype(jnp.float32) for a in end)
