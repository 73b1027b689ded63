"""Training by the bound: gradients against closed forms, and the minimiser of a bound that is known."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import generalisation
from leadline.generalisation.posterior_training import GaussianPosterior


def test_gradients_are_those_of_a_quadratic():
    hessian, centre = jnp.array([[2.0, 0.5], [0.5, 1.0]]), jnp.array([1.0, -1.0])
    mu, rho = jnp.array([0.3, 0.2]), jnp.array([-0.5, 0.1])
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(40_000, 2)))
    given = (lambda w: 0.5 * (w - centre) @ hessian @ (w - centre), mu, rho, noise)
    exact = (hessian @ (mu - centre), jnp.diag(hessian) * jnp.exp(2 * rho))
    for estimator in (generalisation.reparameterised_gradient, generalisation.score_gradient):
        for found, truth in zip(estimator(*given), exact, strict=True):
            error = np.asarray(found).std(axis=0) / 200
            assert np.all(np.abs(np.asarray(found).mean(axis=0) - np.asarray(truth)) < 4.5 * error)


def test_training_finds_the_least_relaxed_bound():
    """With surrogate θ²/2 and prior N(0, 1) in one dimension the objective is s²/2 + μ²/2 + √((KL + ln)/2n)."""
    start = GaussianPosterior(jnp.array([0.5]), jnp.array([-0.5]))
    n = 50
    ran = generalisation.train_posterior(
        lambda w, x: jnp.sum(w**2) / 2,
        start,
        jnp.zeros(1),
        np.zeros(n),
        prior_deviation=1.0,
        num_steps=1500,
        rates=(1e-2, 1e-2),
        key=jax.random.key(0),
    )
    s = np.exp(np.linspace(-4, 0, 4001))
    whole = s**2 / 2 + np.sqrt((0.5 * (s**2 - 1) - np.log(s) + np.log(2 * np.sqrt(n) / 0.05)) / (2 * n))
    best = s[np.argmin(whole)]
    assert abs(float(ran.posterior.log_deviation[0]) - np.log(best)) < 0.3
    assert abs(float(ran.posterior.mean[0])) < 0.15
    assert ran.surrogate.shape == ran.kl.shape == ran.mean_log_deviation.shape == (1500,)


def test_the_best_prior_deviation_is_used_where_none_is_given():
    mean, rho = jnp.array([1.0, -2.0]), jnp.array([-1.0, 0.5])
    ran = generalisation.train_posterior(
        lambda w, x: jnp.sum(w**2),
        GaussianPosterior(mean, rho),
        jnp.zeros(2),
        np.zeros(9),
        num_steps=1,
        key=jax.random.key(0),
    )
    best = np.sqrt(np.mean(np.exp(2 * np.asarray(rho)) + np.asarray(mean) ** 2))
    kl = generalisation.diagonal_gaussian_kl(np.asarray(mean), np.exp(np.asarray(rho)), 0.0, best)
    np.testing.assert_allclose(ran.kl[0], kl, rtol=1e-5)
