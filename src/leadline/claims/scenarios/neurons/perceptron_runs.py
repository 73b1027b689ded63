"""Perceptron runs that several claims about mistakes measure."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.data.generators.margin_shell import shell_error
from leadline.linear_classifiers import margins, perceptrons
from leadline.linear_classifiers.margins.class_pairs import class_pair, pair_difficulty
from leadline.linear_classifiers.perceptrons.training import Run


def fit_to_end(x, y, order, key, bound) -> Run:
    """A run to the end: each sweep but the last one makes an update, so bound + 1 sweeps are enough."""
    return perceptrons.learn(x, y, order=order, epochs=int(bound) + 1, key=key)


def source_bound(x, y, direction) -> int:
    """⌊R²/γ²⌋ with the margin γ of the direction from which the sample was drawn."""
    radius, gamma = float(jnp.max(jnp.linalg.norm(x, axis=1))), float(jnp.min(y * (x @ direction)))
    return int(radius**2 / gamma**2)


def drawn(key, samples, dim, margin) -> tuple[np.ndarray, ...]:
    """A separable sample in NumPy, where arithmetic on it needs no compilation."""
    return tuple(np.asarray(part) for part in data.separable_ball(samples, dim, margin, key=key))


def measured(key, dim, samples, margin, orders) -> tuple[float, ...]:
    """γ, R²/γ² and the updates in each order, for one draw."""
    x, y, _ = drawn(key, samples, dim, float(margin))
    best = margins.max_margin(x, y, bias=False)
    quotient = (best.radius / best.margin) ** 2
    return best.margin, quotient, *(fit_to_end(x, y, order, key, quotient).updates for order in orders)


def digit_pairs(key) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, R²/γ² and the updates of ten runs of all 45 pairs of digits."""
    images, labels = data.digits()
    found = pair_difficulty(images, labels)
    sets = [class_pair(images, labels, *pair) for pair in found.pairs]
    size = max(len(y) for _, y in sets)
    counts = np.zeros((len(sets), 10), int)
    for i, (x, y) in enumerate(sets):
        # Filled up to one size by repeating examples, which changes neither R nor γ, so that it compiles once.
        filled = np.resize(np.arange(len(y)), size)
        for s in range(10):
            subkey, most = jax.random.fold_in(key, 10 * i + s), min(found.difficulty[i], 1e6)
            counts[i, s] = fit_to_end(x[filled], y[filled], "permuted", subkey, most).updates
    return [f"{a} vs {b}" for a, b in found.pairs], found.difficulty, counts


def one_pass(key, length, dim, margin, counts) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """After n examples, for each n of `counts`: mistakes, error of w_n, mean error of w_0 … w_n; and w at n = R²/ρ²."""
    x, y, _ = data.margin_shell(length, dim, margin, key=key)
    run = perceptrons.learn(x, y, epochs=1)
    weights = perceptrons.path(run, x, y).weights
    # The rows repeated up to a power of two: runs of many lengths share few compilations.
    filled = jnp.asarray(np.resize(weights, (1 << len(weights).bit_length(), weights.shape[1])))
    errors = np.asarray(shell_error(filled, margin))[: len(weights)]
    made = np.searchsorted(run.times, np.arange(length + 1))  # mistakes among the first t examples
    error = errors[made]
    averages = np.cumsum(error) / np.arange(1, length + 2)
    return made[counts], error[counts], averages[counts], weights[made[round(1 / margin**2)]]
