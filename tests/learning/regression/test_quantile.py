"""Quantiles and quantile regression against NumPy, SciPy, scikit-learn and exact counts."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from sklearn.linear_model import QuantileRegressor

from leadline import data, learning
from leadline.learning.regression.quantile import crossings

LEVELS = np.array([0.1, 0.5, 0.9])
RNG = np.random.default_rng(8)
X = RNG.normal(size=(50, 2))
Y = X @ np.array([1.0, -1.0]) + RNG.normal(size=50)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=20), st.floats(0.01, 0.99))
def test_quantiles_of_samples_are_numpys_inverted_cdf(values, tau):
    found = learning.discrete_quantile(np.array(values, float), tau)
    assert found == np.quantile(np.array(values, float), tau, method="inverted_cdf")


def test_weights_are_repetitions():
    values, counts = np.array([3.0, 1.0, 2.0]), np.array([2, 5, 3])
    tau = np.linspace(0.05, 0.95, 19)
    np.testing.assert_array_equal(
        learning.discrete_quantile(values, tau, probabilities=counts / 10),
        learning.discrete_quantile(np.repeat(values, counts), tau),
    )
    assert learning.discrete_quantile(np.array([0.0, 1.0]), 0.5, probabilities=np.array([0.0, 1.0])) == 1.0


@pytest.mark.parametrize("law", [stats.norm(3, 2), stats.expon(), stats.t(3), stats.poisson(4)])
def test_a_cdf_is_inverted_as_scipy_does(law):
    tau = np.array([0.01, 0.3, 0.77, 0.99])
    np.testing.assert_allclose(learning.invert_cdf(law.cdf, tau), law.ppf(tau), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_programme_is_scikit_learns(tau):
    fits = learning.quantile_regression(X, Y, np.array([tau]))
    reference = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(fits.weights[0], reference.coef_, atol=1e-7)
    np.testing.assert_allclose(fits.bias[0], reference.intercept_, atol=1e-7)
    np.testing.assert_allclose(fits.loss, fits.optimum, rtol=1e-9)


def test_units_do_not_matter():
    fits, scaled = (learning.quantile_regression(X * a, Y * a, LEVELS) for a in (1.0, 1e6))
    np.testing.assert_allclose(scaled.weights, fits.weights, rtol=1e-7)


def test_the_counts_are_exact_on_the_diabetes_data():
    inputs, targets, _ = data.diabetes()
    residual = targets[:, None] - learning.quantile_regression(inputs, targets, LEVELS).predict(inputs)
    assert np.all(np.sum(residual < -1e-6, axis=0) <= len(targets) * LEVELS)
    assert np.all(np.sum(residual <= 1e-6, axis=0) >= len(targets) * LEVELS)


def test_fits_in_order_do_not_cross_and_cost_little():
    x, y = RNG.normal(size=(20, 3)), RNG.normal(size=20)
    levels = np.linspace(0.1, 0.9, 7)
    free, kept = (learning.quantile_regression(x, y, levels, non_crossing=n) for n in (False, True))
    assert not crossings(kept.predict(x)).any()
    assert not crossings(learning.rearrange(free.predict(x))).any()
    assert kept.loss.sum() >= free.loss.sum() - 1e-9
    np.testing.assert_allclose(kept.loss, kept.optimum, rtol=1e-7)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        learning.discrete_quantile(Y, 1.0)
    with pytest.raises(ValueError, match="sum to 1"):
        learning.discrete_quantile(np.ones(2), 0.5, probabilities=np.ones(2))
    with pytest.raises(ValueError, match="empty"):
        learning.discrete_quantile(np.empty(0), 0.5)
    with pytest.raises(ValueError, match="sort them"):
        learning.quantile_regression(X, Y, np.array([0.9, 0.1]), non_crossing=True)
    with pytest.raises(ValueError, match="does not reach"):
        learning.invert_cdf(lambda y: 0 * y, 0.5)
