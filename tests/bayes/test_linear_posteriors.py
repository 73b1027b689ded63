"""Posteriors of the linear model against brute force, SciPy and scikit-learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leadline import bayes, learning
from leadline.bayes.linear_posteriors import prior_over_weights
from leadline.bayes.posterior_modes import PosteriorMode

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.normal(size=12)


def test_updating_datum_by_datum_ends_at_the_closed_form():
    exact = learning.gaussian_posterior(X, Y, sigma=0.3, prior_variance=0.5)
    path = bayes.sequential_posteriors(X, Y, sigma=0.3, alpha=2.0)
    assert len(path) == 13
    assert np.allclose(path[-1].mean, exact.mean, atol=1e-12)
    assert np.allclose(path[-1].covariance, exact.covariance, atol=1e-12)


def test_evidence_is_the_gaussian_density_of_the_targets():
    law = multivariate_normal(np.zeros(12), 0.09 * np.eye(12) + X @ X.T / 2)
    assert np.isclose(bayes.linear_log_evidence(X, Y, sigma=0.3, alpha=2.0), law.logpdf(Y))
    wide = rng.normal(size=(4, 9))  # more weights than data
    law = multivariate_normal(np.zeros(4), np.eye(4) + wide @ wide.T)
    assert np.isclose(bayes.linear_log_evidence(wide, Y[:4], sigma=1.0, alpha=1.0), law.logpdf(Y[:4]))


def test_evidence_equals_likelihood_times_prior_over_posterior_anywhere():
    theta = np.array([0.3, -1.0, 2.0])
    post = learning.gaussian_posterior(X, Y, sigma=0.3, prior_variance=0.5)
    log_post = multivariate_normal(post.mean, post.covariance).logpdf(theta)
    energy = float(bayes.linear_energy(theta, X, Y, sigma=0.3, alpha=2.0))
    assert np.isclose(-energy - log_post, bayes.linear_log_evidence(X, Y, sigma=0.3, alpha=2.0))


def test_largest_evidence_agrees_with_scikit_learn_and_mackays_fixed_point():
    from sklearn.linear_model import BayesianRidge

    found = bayes.maximise_linear_evidence(X, Y)
    ridge = BayesianRidge(fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-10, max_iter=5000)
    ridge.fit(X, Y)
    assert np.isclose(found.alpha, ridge.lambda_, rtol=1e-4)
    assert np.isclose(found.sigma**-2, ridge.alpha_, rtol=1e-4)
    post = learning.gaussian_posterior(X, Y, sigma=found.sigma, prior_variance=1 / found.alpha)
    assert np.isclose(found.alpha * post.mean @ post.mean, found.effective_parameters, rtol=1e-4)


def test_last_layer_of_a_regressor_is_the_closed_form():
    targets = np.column_stack([Y, -Y])
    head = bayes.last_layer_regression(X, targets, alpha=2.0, sigma=0.3)
    exact = learning.gaussian_posterior(X, Y, sigma=0.3, prior_variance=0.5)
    assert np.allclose(head.posteriors[1].mean, -exact.mean)
    law = head.predict(X[:2])[0]
    assert np.allclose(law.mean, X[:2] @ exact.mean)
    assert np.allclose(law.variance, [x @ exact.covariance @ x + 0.09 for x in X[:2]])
    low, high = law.band(0.95)
    assert np.allclose(high - low, 2 * 1.959964 * np.sqrt(law.variance), rtol=1e-6)
    free = bayes.last_layer_regression(X, targets)
    assert np.isclose(free.alphas[0], bayes.maximise_linear_evidence(X, Y).alpha)


def test_mode_laplace_and_importance_sampling_on_a_logistic_posterior():
    labels = np.where(X[:, 0] > 0, 1.0, -1.0)
    x = X[:, :2]

    def energy(t, x, y):
        return jnp.sum(jnp.logaddexp(0.0, -y * (x @ t))) + jnp.sum(t**2) / 2 + jnp.log(2 * jnp.pi)

    mode = bayes.map_estimate(energy, np.zeros(2), x, labels)
    p = 1 / (1 + np.exp(labels * (x @ mode.theta)))
    assert np.allclose(mode.theta, x.T @ (labels * p), atol=1e-9)  # gradient 0
    assert np.allclose(mode.hessian, (x * (p * (1 - p))[:, None]).T @ x + np.eye(2))

    def at(t):
        return np.logaddexp(0, -(t @ x.T) * labels).sum(1) + np.sum(t**2, axis=1) / 2 + np.log(2 * np.pi)

    grid = bayes.grid_posterior(at, np.linspace(-6, 8, 141), np.linspace(-6, 6, 121))
    assert grid.edge_share() < 1e-6
    assert abs(bayes.laplace_log_evidence(mode) - grid.log_evidence) < 0.2
    drawn = bayes.importance_log_evidence(at, mode, key=jax.random.key(0))
    assert abs(drawn.log_evidence - grid.log_evidence) < 4 * drawn.error
    assert not drawn.warning
    assert "widen" in bayes.importance_log_evidence(at, mode, widened=0.05, key=jax.random.key(0)).warning


def test_weights_of_draws():
    values = np.array([[1.0], [3.0]])
    assert bayes.average_draws(values).variance.tolist() == [1.0]
    far = bayes.average_draws(values, np.array([-1000.0, -1000.0 + np.log(3)]))
    assert np.allclose([far.mean[0], far.effective_size], [2.5, 1.6])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prior_over_weights(2, 0.0), "above 0"),
        (lambda: bayes.linear_log_evidence(X, Y, sigma=0.0, alpha=1.0), "above 0"),
        (lambda: bayes.maximise_linear_evidence(X, 0 * Y), "all 0"),
        (lambda: bayes.grid_posterior(lambda t: t[:, 0], np.array([0.0, 1.0, 3.0])), "evenly"),
        (lambda: bayes.grid_posterior(lambda t: t[:, 0]), "axes"),
        (lambda: bayes.average_draws(np.ones((2, 1)), np.full(2, np.nan)), "one finite"),
        (lambda: bayes.last_layer_regression(X, Y[:, None], alpha=1.0), "sigma"),
        (lambda: bayes.laplace_log_evidence(PosteriorMode(np.zeros(1), 0.0, -np.eye(1))), "positive definite"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
