"""Networks drawn layer by layer have the law of networks with weight matrices."""

import jax
import numpy as np
import pytest
from scipy.stats import ks_2samp, kurtosis

from leadline.infinite_width import draw_outputs, output_kurtosis

X = np.array([[1.0, 0.0], [0.6, -0.8], [1.0, 0.0]])


def test_they_have_the_law_of_networks_with_weights():
    rng, m, count = np.random.default_rng(0), 6, 4000
    h = rng.standard_normal((count, m, 2)) @ X.T / 2**0.5 * 1.3 + 0.4 * rng.standard_normal((count, m, 1))
    h = rng.standard_normal((count, m, m)) @ np.tanh(h) / m**0.5 * 1.3 + 0.4 * rng.standard_normal((count, m, 1))
    f = rng.standard_normal((count, 1, m)) @ np.tanh(h) / m**0.5 * 1.3 + 0.4 * rng.standard_normal((count, 1, 1))
    drawn = draw_outputs(X, (m, m), "tanh", networks=count, W_std=1.3, b_std=0.4, key=jax.random.key(1))
    for direction in ([1, 0, 0], [1, 1, 0], [1, -1, 0]):
        assert ks_2samp(f[:, 0] @ direction, drawn @ direction).pvalue > 1e-3
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 2], atol=1e-6)  # one input twice


def test_the_kurtosis_is_that_of_drawn_networks():
    f = draw_outputs(X[:1], (4,), "relu", networks=200_000, W_std=2**0.5, key=jax.random.key(0))[:, 0]
    blocks = kurtosis(f.reshape(20, -1), axis=1, fisher=False)
    assert abs(blocks.mean() - output_kurtosis("relu", 4)) < 4 * blocks.std() / 20**0.5
    np.testing.assert_allclose(output_kurtosis("absolute", np.array([1, 2])), [9.0, 6.0], rtol=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        draw_outputs(X, (0,), networks=3, key=jax.random.key(0))
