from itertools import combinations, product

import numpy as np
import pytest

from leadline.stochastic.moments.batch_rules import (
    batch_speedup,
    gaussian_critical_batch,
    gaussian_largest_step,
    gaussian_moment_map,
    gaussian_sigma,
    noise_share,
)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_covariance_of_a_batch_is_that_of_all_batches(batch):
    g = np.random.default_rng(0).normal(size=(6, 2))
    for replacement, batches in ((True, product(range(6), repeat=batch)), (False, combinations(range(6), batch))):
        means = g[np.array(list(batches))].mean(1)
        expected = noise_share(6, batch, replacement=replacement) * np.cov(g.T, bias=True)
        np.testing.assert_allclose(np.cov(means.T, bias=True), expected, atol=1e-15)


def test_one_gradient_alone_has_no_noise():
    assert noise_share(1, 1, replacement=False) == 0.0


def test_the_largest_step_is_where_the_moment_map_has_radius_one():
    spectrum = np.geomspace(1, 0.01, 30)
    published = {1: 0.2533, 2: 0.4700, 4: 0.8148, 8: 1.2567, 16: 1.6427, 64: 1.9311, 4096: 1.9990}
    for batch, step in published.items():
        found = gaussian_largest_step(spectrum, batch)
        np.testing.assert_allclose(found, step, atol=6e-5)
        radius = np.abs(np.linalg.eigvals(gaussian_moment_map(spectrum, found, batch))).max()
        np.testing.assert_allclose(radius, 1.0, rtol=1e-9)
    np.testing.assert_allclose(gaussian_critical_batch(spectrum), 6.75, atol=0.01)
    with pytest.raises(ValueError, match="positive"):
        gaussian_largest_step(np.array([0.0, 1.0]), 2)


def test_the_moment_map_is_that_of_sampled_gaussian_inputs():
    rng = np.random.default_rng(0)
    lam, v, eta = np.array([1.0, 0.4]), np.array([0.7, -1.1]), 0.3
    x = rng.normal(size=(400_000, 2, 2)) * np.sqrt(lam)  # two inputs a batch
    after = v - eta * np.mean(x * (x @ v)[..., None], axis=1)
    predicted = gaussian_moment_map(lam, eta, 2) @ v**2
    error = np.std(after**2, axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(np.mean(after**2, axis=0) - predicted) < 4 * error)


def test_the_speed_up_is_linear_then_saturates():
    np.testing.assert_allclose(batch_speedup(1, 50.0), 1.0)
    np.testing.assert_allclose(batch_speedup(1e9, 50.0), 50.0, rtol=1e-6)
    np.testing.assert_allclose(gaussian_sigma(np.array([1.0, 0.5])), 5.0)
    with pytest.raises(ValueError, match="batch"):
        batch_speedup(0, 2.0)
