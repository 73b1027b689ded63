"""The limit of jittered copies, against brute force and its extremes."""

import numpy as np
import pytest

from leadline.convolution.augmentation import jitter_limit

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=30)


def test_it_is_the_weighted_mean_and_between_interpolation_and_the_mean():
    points = RNG.normal(size=(7, 2))
    weights = np.exp(-((points[:, None] - X) ** 2).sum(-1) / (2 * 0.4**2))
    np.testing.assert_allclose(jitter_limit(X, Y, points, 0.4), weights @ Y / weights.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(jitter_limit(X, Y, X, 1e-4), Y, atol=1e-9)
    np.testing.assert_allclose(jitter_limit(X, Y, points, 1e4), Y.mean(), atol=1e-6)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        jitter_limit(X, Y, X, 0.0)
    with pytest.raises(ValueError, match="same number of rows"):
        jitter_limit(X, Y[:3], X, 1.0)
    with pytest.raises(ValueError, match="NaN"):
        jitter_limit(X, Y, X * np.nan, 1.0)
