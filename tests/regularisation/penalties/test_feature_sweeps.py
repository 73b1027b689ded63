"""Sweeps of random features against the readout of one size at a time."""

import jax
import numpy as np
import pytest

from leadline.learning import draw_features, fit_readout
from leadline.regularisation import feature_sweep

RNG = np.random.default_rng(2)
X, Y, TEST, TRUTH = (RNG.normal(size=shape) for shape in ((10, 3), (10, 2), (6, 3), (6, 2)))
PHI = draw_features(3, 40, "relu", key=jax.random.key(0))


def test_each_size_and_ridge_equals_its_own_fit():
    sweep = feature_sweep(PHI, X, Y, TEST, TRUTH, (4, 10, 40), alphas=(0.0, 0.5))
    for i, p in enumerate((4, 10, 40)):
        phi = PHI.first(p)
        for j, alpha in enumerate((0.0, 0.5)):
            fits = [fit_readout(phi, X, column, ridge=alpha) for column in Y.T]
            said = np.array([fit.predict(phi(TEST)) for fit in fits]).T
            np.testing.assert_allclose(sweep.test[i, j], np.mean(np.sum((said - TRUTH) ** 2, axis=1)), rtol=1e-6)
            assert sweep.mistakes[i, j] == np.mean(said.argmax(1) != TRUTH.argmax(1))
        assert sweep.smallest[i] == pytest.approx(np.linalg.svd(phi(X), compute_uv=False)[-1], rel=1e-6, abs=1e-12)


def test_counts_beyond_the_features_are_refused():
    with pytest.raises(ValueError, match="counts from 1"):
        feature_sweep(PHI, X, Y, TEST, TRUTH, (41,))
