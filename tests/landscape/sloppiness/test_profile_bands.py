"""Bands of linear models against the formula, of a nonlinear one against a scan of its weights."""

import numpy as np
import pytest

from leadline.landscape import sloppiness


def test_the_band_of_a_linear_model_is_the_formula():
    rng = np.random.default_rng(0)
    model = sloppiness.polynomial_model(np.linspace(-1, 1, 9), 3)
    y = rng.normal(size=9)
    best = model.fit(y, np.zeros(4)).weights
    xs = np.array([-2.0, 0.1, 1.5])
    band = sloppiness.profile_band(model, y, best, xs, 0.3, deviation=0.5)
    half = sloppiness.linear_half_width(model, best, xs, 0.3, deviation=0.5)
    np.testing.assert_allclose(band.high - band.best, half, rtol=1e-6)
    np.testing.assert_allclose(band.best - band.low, half, rtol=1e-6)
    metric = model.metric(best, 0.5)
    slopes = model.at(xs).jacobian(best)
    np.testing.assert_allclose(half, np.sqrt(0.6 * np.einsum("ki,ij,kj->k", slopes, np.linalg.inv(metric), slopes)))


def test_the_band_of_a_nonlinear_model_is_that_of_a_scan():
    model = sloppiness.michaelis_menten(np.array([0.5, 1.0, 2.0, 4.0]))
    y = model.predict(np.array([2.0, 1.0])) + np.array([0.05, -0.05, 0.03, -0.02])
    best = model.fit(y, np.ones(2)).weights
    band = sloppiness.profile_band(model, y, best, np.array([1.5, 20.0]), 0.5, deviation=0.1)
    grid = np.stack(np.meshgrid(np.linspace(1.4, 3.0, 600), np.linspace(0.3, 3.0, 600)), -1).reshape(-1, 2)
    inside = grid[model.cost(grid, y, 0.1) <= model.cost(best, y, 0.1) + 0.5]
    values = model.at(np.array([1.5, 20.0])).predict(inside)
    np.testing.assert_allclose(band.low, values.min(0), rtol=2e-2)
    np.testing.assert_allclose(band.high, values.max(0), rtol=2e-2)
    assert np.all(band.high >= values.max(0) - 1e-6)
    assert np.all(band.low <= values.min(0) + 1e-6)
    np.testing.assert_allclose(model.cost(band.high_weights, y, 0.1), model.cost(best, y, 0.1) + 0.5, rtol=1e-5)
    np.testing.assert_allclose(band.distance(band.high + 0.25), 0.25)


def test_no_tolerance_is_told():
    model = sloppiness.michaelis_menten(np.ones(3))
    with pytest.raises(ValueError, match="positive tolerance"):
        sloppiness.profile_band(model, np.ones(3), np.ones(2), np.ones(1), 0.0)
