"""Random ReLU features of the digits, more and more of them: what the entry and the audit on double descent sweep."""

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline import data, learning, regularisation
from leadline.regularisation.penalties.feature_sweeps import FeatureSweep

ALPHAS = (0.0, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def digit_sweeps(
    key: PRNGKeyArray, images: int, corrupted: float, counts: Sequence[int], seeds: int
) -> list[FeatureSweep]:
    """For each seed other training rows and other features: pixels centred, weights N(0, 1/64), no biases.

    A share `corrupted` of the training labels is drawn anew from all ten; test labels are clean.
    """
    x, y = data.digits()
    x, targets = x - x.mean(axis=0), np.eye(10)[y]
    sweeps = []
    for seed in range(seeds):
        own = jax.random.fold_in(key, seed)
        rng = data.generator(own)
        order = rng.permutation(len(y))
        rows, rest = order[:images], order[images:]
        labels = np.where(rng.random(images) < corrupted, rng.integers(0, 10, images), y[rows])
        phi = learning.draw_features(64, max(counts), "relu", bias_scale=0.0, key=own)
        given = x[rows], np.eye(10)[labels], x[rest], targets[rest]
        sweeps.append(regularisation.feature_sweep(phi, *given, counts, alphas=ALPHAS))
    return sweeps
