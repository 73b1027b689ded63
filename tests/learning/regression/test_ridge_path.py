"""Ridge against scikit-learn, limits and the hat matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from leadline import learning

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 4)) + 1.0
Y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 3.0 + RNG.normal(size=30)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("gamma", [1e-3, 0.5, 40.0])
def test_it_is_scikit_learns_ridge_with_penalty_n_gamma(gamma, intercept):
    fit = learning.ridge(X, Y, gamma, intercept=intercept)
    reference = Ridge(alpha=len(Y) * gamma, fit_intercept=intercept, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(fit.weights, reference.coef_, atol=1e-10)
    np.testing.assert_allclose(fit.bias, reference.intercept_, atol=1e-10)


def test_without_penalty_it_is_least_squares_of_least_norm():
    few = X[:2]
    fit = learning.ridge(few, Y[:2], 0.0, intercept=False)
    np.testing.assert_allclose(fit.weights, np.linalg.pinv(few) @ Y[:2], atol=1e-12)
    np.testing.assert_allclose(learning.ridge(X, Y, 0.0).weights, learning.least_squares(X, Y).weights, atol=1e-12)


def test_a_path_is_its_single_fits_and_its_degrees_of_freedom_are_the_trace_of_the_hat_matrix():
    gammas = np.array([0.0, 0.1, 10.0])
    fits = learning.ridge_fits(X, Y, gammas)
    centred = X - X.mean(axis=0)
    for k, gamma in enumerate(gammas):
        one = learning.ridge(X, Y, gamma)
        np.testing.assert_allclose(fits.weights[k], one.weights, atol=1e-12)
        np.testing.assert_allclose(fits.bias[k], one.bias, atol=1e-12)
        hat = centred @ np.linalg.solve(centred.T @ centred + 30 * gamma * np.eye(4), centred.T)
        assert fits.degrees_of_freedom[k] == pytest.approx(1 + np.trace(hat), abs=1e-10)


def test_it_may_be_jitted_and_batched():
    gradient = jax.jit(jax.grad(lambda g: jnp.sum(learning.ridge(jnp.asarray(X), jnp.asarray(Y), g).weights ** 2)))
    h = 1e-5
    norms = [np.sum(learning.ridge(X, Y, 0.3 + s * h).weights ** 2) for s in (-1, 1)]
    assert gradient(0.3) == pytest.approx((norms[1] - norms[0]) / (2 * h), rel=1e-6)
    both = learning.ridge(np.stack([X, 2 * X]), np.stack([Y, Y]), 0.1)
    np.testing.assert_allclose(both.weights[0], learning.ridge(X, Y, 0.1).weights, atol=1e-12)


def test_a_negative_penalty_is_refused():
    with pytest.raises(ValueError, match="gamma >= 0"):
        learning.ridge(X, Y, -1.0)
