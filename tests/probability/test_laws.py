"""Laws, divergences, bounds and moments against SciPy and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from leadline import probability
from leadline.probability.moments import gaussian_mgf, gaussian_moment, moment_from_mgf
from leadline.probability.tail_bounds import poisson_distance

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
MEAN, COVARIANCE = RNG.normal(size=3), ROOT @ ROOT.T


def test_densities_are_scipys():
    k = jnp.arange(-1, 9)
    x = RNG.normal(size=(5, 3))
    pairs = [
        (
            probability.Normal(MEAN, COVARIANCE).log_density(jnp.asarray(x)),
            stats.multivariate_normal(MEAN, COVARIANCE).logpdf(x),
        ),
        (probability.Exponential(1.7).log_density(jnp.asarray(x[:, 0])), stats.expon(scale=1 / 1.7).logpdf(x[:, 0])),
        (probability.Binomial(7, 0.3).log_density(k), stats.binom(7, 0.3).logpmf(k)),
        (probability.Binomial(7, 1.0).log_density(k), stats.binom(7, 1.0).logpmf(k)),
        (probability.Poisson(2.5).log_density(k), stats.poisson(2.5).logpmf(k)),
    ]
    for ours, scipys in pairs:
        np.testing.assert_allclose(ours, scipys, rtol=1e-10)


def test_samples_follow_their_laws():
    keys = jax.random.split(jax.random.key(0), 3)
    exponential = probability.Exponential(0.5).sample(4000, key=keys[0])
    assert stats.kstest(exponential, stats.expon(scale=2).cdf).pvalue > 1e-3
    white = np.linalg.solve(
        np.linalg.cholesky(COVARIANCE),
        (np.asarray(probability.Normal(MEAN, COVARIANCE).sample(4000, key=keys[1])) - MEAN).T,
    )
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(white)[0, 1]) < 4 / np.sqrt(4000)
    counts = np.bincount(np.asarray(probability.Poisson(3.0).sample(4000, key=keys[2]), int), minlength=9)[:9]
    expected = 4000 * stats.poisson(3.0).pmf(np.arange(9))
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 1)


def test_fits_are_the_closed_forms():
    x = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 5.0]])
    fitted = probability.Normal.fit(x)
    np.testing.assert_allclose(fitted.covariance, np.cov(x.T, bias=True))
    assert probability.Exponential.fit(x[:, 0]).rate == pytest.approx(0.5)
    assert probability.Binomial.fit(np.array([1, 3]), 4).probability == pytest.approx(0.5)
    assert probability.Poisson.fit(np.array([1, 3])).rate == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: probability.Normal(np.zeros(2), np.ones((2, 2))), "positive definite"),
        (lambda: probability.Exponential.fit(np.array([-1.0, 2.0])), "not negative"),
        (lambda: probability.entropy(np.array([0.5, 0.4])), "sum to 1"),
        (lambda: probability.markov_bound(-1.0, np.ones(1)), "X ≥ 0"),
        (lambda: probability.hoeffding_bound(np.array(-0.1), np.ones(3)), "t ≥ 0"),
        (lambda: poisson_distance(3, 4.0), "rate <= trials"),
        (lambda: moment_from_mgf(jnp.sum, [-1]), "order ≥ 0"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_entropy_and_divergence_are_scipys():
    p, q = RNG.dirichlet(np.ones(6), size=2)
    assert float(probability.entropy(p)) == pytest.approx(stats.entropy(p))
    assert float(probability.entropy(p, base=2)) == pytest.approx(stats.entropy(p, base=2))
    assert float(probability.kl_divergence(q, p)) == pytest.approx(stats.entropy(q, p))
    assert float(probability.kl_divergence(np.array([0.0, 1.0]), np.array([0.5, 0.5]))) == pytest.approx(np.log(2))
    assert np.isinf(probability.kl_divergence(np.array([0.5, 0.5]), np.array([0.0, 1.0])))
    assert probability.differential_entropy(stats.norm(0, 0.1).pdf, -1, 1) == pytest.approx(
        stats.norm(0, 0.1).entropy()
    )


def test_the_gaussian_divergence_is_an_expectation():
    other = probability.Normal(MEAN + 0.3, COVARIANCE + np.eye(3))
    # E_P of a quadratic form: exact by Gauss-Hermite quadrature with 3 nodes to an axis.
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    grid = np.stack(np.meshgrid(nodes, nodes, nodes), -1).reshape(-1, 3) @ np.linalg.cholesky(COVARIANCE).T + MEAN
    mass = np.prod(np.stack(np.meshgrid(weights, weights, weights), -1).reshape(-1, 3), axis=1) / (2 * np.pi) ** 1.5
    difference = stats.multivariate_normal(MEAN, COVARIANCE).logpdf(grid) - stats.multivariate_normal(
        np.asarray(other.mean), np.asarray(other.covariance)
    ).logpdf(grid)
    found = probability.gaussian_kl(jnp.asarray(MEAN), jnp.asarray(COVARIANCE), other.mean, other.covariance)
    assert float(found) == pytest.approx(mass @ difference, rel=1e-10)


def test_moments_of_a_gaussian_pair_by_quadrature():
    covariance, centre = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([0.5, -1.0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    u, v = np.meshgrid(nodes, nodes, indexing="ij")
    x = np.stack([u, v], -1) @ np.linalg.cholesky(covariance).T + centre
    expected = np.sum(np.outer(weights, weights) / (2 * np.pi) * x[..., 0] ** 3 * x[..., 1] ** 2)
    assert gaussian_moment([3, 2], centre, covariance) == pytest.approx(expected, rel=1e-10)
    found = moment_from_mgf(lambda t: gaussian_mgf(t, jnp.asarray(centre), jnp.asarray(covariance)), [3, 2])
    assert found == pytest.approx(expected, rel=1e-10)


def test_both_kl_estimates_agree_with_the_exact_value():
    p, q = stats.norm(0, 1), stats.norm(0.5, 1.2)
    x = q.rvs(20000, random_state=1)
    exact = float(probability.gaussian_kl(jnp.array([0.5]), jnp.array([[1.44]]), jnp.zeros(1), jnp.ones((1, 1))))
    found = probability.kl_from_samples(p.logpdf(x) - q.logpdf(x))
    assert abs(found.plain - exact) < 4 * found.plain_error
    assert abs(found.nonnegative - exact) < 4 * found.nonnegative_error


def test_the_poisson_distance_is_the_sum_over_all_counts():
    k = np.arange(200)
    expected = 0.5 * np.abs(stats.binom(20, 0.15).pmf(k) - stats.poisson(3.0).pmf(k)).sum()
    assert poisson_distance(20, 3.0) == pytest.approx(expected, abs=1e-12)
