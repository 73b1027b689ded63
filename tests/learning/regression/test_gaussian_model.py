"""The Gaussian linear model: likelihood, exact laws, posterior and diagnostics, against SciPy."""

import jax
import numpy as np
import pytest
from scipy import stats

from leadline.learning import (
    fit_gaussian,
    gaussian_posterior,
    least_squares,
    predictive_interval,
    predictive_quantile,
    residual_diagnostics,
    ridge,
)
from leadline.learning.regression.gaussian_model import GaussianLinear, plug_in_coverage

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
MODEL = GaussianLinear(np.array([1.0, -2.0, 0.5]), 0.3, 0.7)


def test_the_likelihood_is_a_sum_of_normal_densities():
    y = RNG.normal(size=12)
    assert MODEL.log_likelihood(X, y) == pytest.approx(stats.norm.logpdf(y, MODEL.mean(X), 0.7).sum())


def test_a_fit_of_many_targets_is_that_of_each():
    y = MODEL.draw(X, repeats=3, key=KEY)
    fit = fit_gaussian(X, y)
    for k in range(3):
        one = least_squares(X, y[k])
        np.testing.assert_allclose(fit.weights[k], one.weights)
        assert fit.bias[k] == pytest.approx(one.bias)
        assert fit.rss[k] == pytest.approx(np.sum((one.predict(X) - y[k]) ** 2))
    design = np.hstack([X, np.ones((12, 1))])
    np.testing.assert_allclose(fit.leverage(X), np.diag(design @ np.linalg.inv(design.T @ design) @ design.T))
    np.testing.assert_allclose(fit.sigma**2, fit.rss / 8)


def test_exact_intervals_cover_and_plug_in_intervals_as_predicted():
    y = MODEL.draw(X, repeats=20_000, key=KEY)
    fit, at = fit_gaussian(X, y), np.array([[1.0, 0.0, -1.0]])
    new = MODEL.mean(at) + 0.7 * RNG.normal(size=(20_000, 1))
    h = fit.leverage(at)[0]
    for plug_in, level in ((False, 0.9), (True, plug_in_coverage(12, 3, h, level=0.9))):
        band = predictive_interval(fit, at, level=0.9, plug_in=plug_in)
        share = np.mean((band.low <= new) & (new <= band.high))
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 20_000)


def test_the_printed_number_of_the_plug_in_coverage_is_met():
    assert plug_in_coverage(20, 5, 0.3) == pytest.approx(0.828, abs=5e-4)
    assert plug_in_coverage(10**7, 1, 0.0) == pytest.approx(0.95, abs=1e-6)


def test_quantiles_are_symmetric_about_the_mean():
    fit = fit_gaussian(X, MODEL.draw(X, key=KEY))
    for plug_in in (False, True):
        low, high = (predictive_quantile(fit, X, q, plug_in=plug_in) for q in (0.1, 0.9))
        np.testing.assert_allclose((low + high) / 2, fit.mean(X))


def test_as_many_examples_as_parameters_have_no_likelihood_maximum():
    fit = fit_gaussian(X[:4], np.arange(4.0))
    assert not fit.bounded
    assert fit.rss == pytest.approx(0.0, abs=1e-20)
    with pytest.raises(ValueError, match="unbounded"):
        predictive_interval(fit, X)


def test_the_posterior_mean_is_ridge_and_its_covariance_the_inverse_precision():
    y = RNG.normal(size=12)
    posterior = gaussian_posterior(X, y, sigma=0.5, prior_variance=2.0)
    np.testing.assert_allclose(posterior.mean, ridge(X, y, 0.25 / (12 * 2.0), intercept=False).weights)
    np.testing.assert_allclose(posterior.covariance @ (X.T @ X / 0.25 + np.eye(3) / 2), np.eye(3), atol=1e-12)


def test_diagnostics_reject_what_they_should():
    x = RNG.normal(size=(300, 2))
    heavy = residual_diagnostics(x, RNG.standard_t(2, size=300), key=KEY)
    assert heavy.normality == pytest.approx(1 / 200)
    fanned = residual_diagnostics(x, np.exp(x[:, 0]) * RNG.normal(size=300), key=KEY)
    assert fanned.homoscedasticity == pytest.approx(1 / 200)
    assert fanned.leverage.sum() == pytest.approx(3.0)


def test_the_statistics_are_scipys_and_the_auxiliary_regressions():
    from leadline.learning.regression.gaussian_model import _shape_statistic, _spread_statistic

    q = np.linalg.qr(np.hstack([X, np.ones((12, 1))]))[0]
    z = RNG.normal(size=12)
    r = z - q @ (q.T @ z)
    assert _shape_statistic(r[None])[0] == pytest.approx(stats.jarque_bera(r).statistic)
    fit = least_squares(X, r**2)
    explained = 1 - np.sum((r**2 - fit.predict(X)) ** 2) / np.sum((r**2 - np.mean(r**2)) ** 2)
    assert _spread_statistic(r[None], q)[0] == pytest.approx(12 * explained)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="rank"):
        fit_gaussian(np.ones((5, 2)), np.zeros(5))
    with pytest.raises(ValueError, match="positive"):
        MODEL._replace(sigma=0.0).log_likelihood(X, np.zeros(12))
    with pytest.raises(ValueError, match="n > d"):
        plug_in_coverage(4, 3, 0.1)
    with pytest.raises(ValueError, match="must be > 0"):
        gaussian_posterior(X, np.zeros(12), sigma=1.0, prior_variance=0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        predictive_interval(fit_gaussian(X, np.zeros(12)), X, level=1.5)
