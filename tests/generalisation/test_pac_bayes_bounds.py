"""PAC-Bayes bounds against root finding, exact coverage and printed values; Gaussian divergences against dense ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

from leadline import generalisation, probability
from leadline.landscape.sloppiness.aligned_posteriors import AlignedPosterior


def coin_kl(q, p):
    return rel_entr(q, p) + rel_entr(1 - q, 1 - p)


def test_divergence_of_coins_is_that_of_finite_laws():
    rng = np.random.default_rng(0)
    q, p = rng.uniform(size=(2, 50))
    np.testing.assert_allclose(generalisation.bernoulli_kl(q, p), coin_kl(q, p), rtol=1e-9)
    np.testing.assert_allclose(
        generalisation.bernoulli_kl(np.array([0.0, 1.0, 0.3]), np.array([0.2, 0.2, 0.3])), [-np.log(0.8), np.log(5), 0]
    )
    assert generalisation.bernoulli_kl(0.5, 1.0) == np.inf
    assert generalisation.bernoulli_kl(0.5, 0.0) == np.inf


@pytest.mark.parametrize(("q", "c"), [(0.1, 0.3), (0.5, 0.01), (0.9, 2.0), (1e-6, 0.1), (0.03, 5.0)])
def test_inverse_agrees_with_root_finding(q, c):
    root = brentq(lambda p: coin_kl(q, p) - c, q, 1 - 1e-15, xtol=1e-15)
    assert float(generalisation.kl_inverse(q, c)) == pytest.approx(root, rel=1e-9)


def test_inverse_is_accurate_at_the_ends():
    budgets = np.array([0.0, 1e-12, 1e-3, 1.0, 50.0])
    np.testing.assert_allclose(generalisation.kl_inverse(0.0, budgets), -np.expm1(-budgets), rtol=1e-15)
    np.testing.assert_array_equal(generalisation.kl_inverse(1.0, budgets), np.ones(5))
    np.testing.assert_allclose(generalisation.kl_inverse(0.3, 0.0), 0.3, atol=1e-12)
    small = 1e-14  # p − q ≈ √(2q(1−q)c), where the plain formula of kl has lost every digit
    assert float(generalisation.kl_inverse(0.5, small)) - 0.5 == pytest.approx(np.sqrt(0.5 * small), rel=1e-6)


def test_bounds_have_the_values_of_the_specification():
    bound = generalisation.pac_bayes_bound(0.0, np.array([0.0, 5.0, 50.0, 500.0]), 1000)
    np.testing.assert_allclose(bound.relaxed, [0.060, 0.078, 0.169, 0.504], atol=5e-4)
    assert np.all(bound.value <= bound.relaxed)
    assert not bound.vacuous()
    assert generalisation.pac_bayes_bound(0.1, 1e5, 1000).vacuous(0.9)


def test_sampled_bound_covers_the_true_error_and_grows_with_the_price():
    rng = np.random.default_rng(1)
    bound = generalisation.sampled_pac_bayes_bound
    misses = sum(bound(np.full(2000, rng.binomial(50, 0.2) / 50), 0.0, 50) < 0.2 for _ in range(100))
    assert misses <= 5  # a posterior equal to the prior: the training error is a binomial share of the true 0.2
    bounds = [bound(np.full(100, 0.1), kl, 500) for kl in (0.0, 10.0, 100.0)]
    assert bounds[0] < bounds[1] < bounds[2] < 1
    assert bound(np.full(100, 0.1), 10.0, 500, choices=4) > bounds[1]


def test_diagonal_divergence_is_the_dense_one_and_that_of_aligned_posteriors():
    rng = np.random.default_rng(2)
    mean, start, s = rng.normal(size=4), rng.normal(size=4), rng.uniform(0.1, 2.0, 4)
    found = generalisation.diagonal_gaussian_kl(mean, s, start, 0.7)
    dense = probability.gaussian_kl(*map(jnp.asarray, (mean, np.diag(s**2), start, 0.49 * np.eye(4))))
    assert float(found) == pytest.approx(float(dense), rel=1e-5)
    aligned = AlignedPosterior(mean, start, np.eye(4), s, 0.7)
    assert float(found) == pytest.approx(aligned.kl(), rel=1e-12)
    assert float(generalisation.diagonal_gaussian_kl(mean, s, mean, s)) == 0.0
    slope = jax.grad(generalisation.diagonal_gaussian_kl, argnums=1)(jnp.asarray(mean), jnp.asarray(s), 0.0, 0.7)
    np.testing.assert_allclose(slope, s / 0.49 - 1 / s, rtol=1e-5)


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="shares in"):
        generalisation.kl_inverse(1.5, 0.1)
    with pytest.raises(ValueError, match="c >= 0"):
        generalisation.kl_inverse(0.5, -0.1)
    with pytest.raises(ValueError, match="n >= 8"):
        generalisation.pac_bayes_bound(0.1, 1.0, 4)
    with pytest.raises(ValueError, match="shares"):
        generalisation.sampled_pac_bayes_bound(np.array([2.0]), 1.0, 10)
    with pytest.raises(ValueError, match="choices"):
        generalisation.sampled_pac_bayes_bound(np.array([0.2]), 1.0, 10, choices=0)
    with pytest.raises(ValueError, match="deviations > 0"):
        generalisation.diagonal_gaussian_kl(np.zeros(2), 0.0, 0.0, 1.0)
