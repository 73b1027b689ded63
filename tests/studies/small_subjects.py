"""Subjects of a few numbers, for tests."""

import jax
import numpy as np

from leadline import networks
from leadline.studies import as_subject


def three_clouds(count=90, dim=4, seed=0):
    """Three classes of Gaussian points, one around each of the first three unit vectors times 2."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    return (rng.normal(size=(count, dim)) + 2 * np.eye(3, dim)[labels]).astype(np.float32), labels


def linear_subject(**options):
    """A linear softmax model of three classes."""
    train, test = three_clouds(), three_clouds(60, seed=1)
    return as_subject(networks.MLP((4, 3), key=jax.random.key(0)), train, test, **options)
