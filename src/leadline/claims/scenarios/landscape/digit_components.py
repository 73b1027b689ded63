"""The digits through a few principal components, and pairs of two-layer networks trained on them."""

from functools import lru_cache

import numpy as np

from leadline import data, landscape
from leadline.landscape.two_layer_fits import RISKS
from leadline.networks import TwoLayer


@lru_cache
def digit_components(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `dim` principal components of all 1797 digits, each scaled to variance 1, and the labels."""
    images, labels = data.digits()
    centred = images - images.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:dim].T
    return scores / scores.std(axis=0), labels


def trained_pair(rng: np.random.Generator, dim: int, width: int, *, loss: str = "squared", num_steps: int = 600):
    """Two networks of one width from different starts, 600 steps of Adam in batches of 64 on the components."""
    x, labels = digit_components(dim)
    starts = [landscape.random_two_layer(rng, dim, width, 10) for _ in range(2)]
    return tuple(landscape.fit_two_layer(s, x, labels, rng=rng, loss=loss, num_steps=num_steps) for s in starts)


def linear_barrier(loss: str, a: TwoLayer, b: TwoLayer, dim: int) -> float:
    """The barrier on the straight line between two networks."""
    line = landscape.straight_line(a, b)
    return landscape.path_profile(RISKS[loss], line, *digit_components(dim), points=11).barrier
