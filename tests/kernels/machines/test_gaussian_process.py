"""Gaussian processes against scikit-learn, SciPy and refits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.stats import multivariate_normal, norm

from leadline import kernels
from leadline.kernels import machines
from leadline.kernels.machines.gaussian_process import gaussian_paths, prior_paths


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 15))[:, None]
    return x, np.sin(x[:, 0]) + 0.2 * rng.normal(size=15)


def test_agrees_with_scikit_learn(sample):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    x, y = sample
    posterior = machines.gp_regression(kernels.Gaussian(0.8), x, y, 0.05)
    reference = GaussianProcessRegressor(RBF(0.8), alpha=0.05, optimizer=None).fit(x, y)
    fresh = np.linspace(-1, 7, 15)[:, None]
    mean, covariance = reference.predict(fresh, return_cov=True)
    np.testing.assert_allclose(posterior.mean(fresh), mean, atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(fresh), covariance, atol=1e-10)
    np.testing.assert_allclose(posterior.variance(fresh), np.diag(covariance), atol=1e-10)
    assert posterior.log_evidence() == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-10)


def test_evidence_is_the_normal_density_and_adds_over_outputs(sample):
    x, y = sample
    K = np.asarray(kernels.Gaussian(0.8)(x, x)) + 0.05 * np.eye(15)
    exact = multivariate_normal(np.zeros(15), K).logpdf(y)
    assert machines.log_evidence(kernels.Gaussian(0.8), jnp.asarray(x), jnp.asarray(y), 0.05) == pytest.approx(
        exact, rel=1e-9
    )
    two = machines.gp_regression(kernels.Gaussian(0.8), x, np.column_stack([y, y]), 0.05)
    assert two.log_evidence() == pytest.approx(2 * exact, rel=1e-9)


def test_the_evidence_is_differentiated_twice_and_in_both_modes(sample):
    x, y = map(jnp.asarray, sample)

    def value(length, noise, y):
        return machines.log_evidence(kernels.Gaussian(length), x, jnp.asarray(y), jnp.asarray(noise))

    check_grads(value, (jnp.asarray(0.8), jnp.asarray(0.05), y), order=2, modes=("fwd", "rev"), rtol=1e-4)


def test_leave_one_out_densities_equal_refits(sample):
    x, y = sample
    out = machines.gp_regression(kernels.Gaussian(0.8), x, y, 0.05).leave_one_out()
    for i in (0, 9):
        K = np.asarray(kernels.Gaussian(0.8)(x, x))
        rest = np.delete(np.arange(15), i)
        A = np.linalg.inv(K[np.ix_(rest, rest)] + 0.05 * np.eye(14))
        mean, variance = K[i, rest] @ A @ y[rest], 1.05 - K[i, rest] @ A @ K[i, rest]
        assert out.mean[i] == pytest.approx(mean, rel=1e-9)
        assert out.variance[i] == pytest.approx(variance, rel=1e-9)
        assert out.log_density[i] == pytest.approx(norm(mean, np.sqrt(variance)).logpdf(y[i]), rel=1e-9)


def test_the_evidence_is_climbed_to_the_maximum_that_scikit_learn_finds(sample):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    x, y = sample
    best = machines.maximise_evidence(kernels.Gaussian(0.5), x, y, 0.1)
    reference = GaussianProcessRegressor(RBF(0.5) + WhiteKernel(0.1), alpha=0.0).fit(x, y)
    assert best.log_evidence == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-6)
    assert float(best.kernel.scale) == pytest.approx(reference.kernel_.k1.length_scale, rel=1e-2)
    assert best.gradient < 1e-4
    assert best.log_evidence > best.start
    fixed = machines.maximise_evidence(2.0 * kernels.Gaussian(0.5), x, y, 0.1, fix_noise=True)
    assert fixed.noise == 0.1
    assert float(fixed.kernel.factor) > 0


def test_paths_have_the_covariance_and_report_their_jitter():
    x = np.linspace(0, 1, 4)[:, None]
    paths = prior_paths(kernels.Gaussian(0.5), x, 20000, key=jax.random.key(0))
    np.testing.assert_allclose(np.cov(paths.values.T), kernels.Gaussian(0.5)(x, x), atol=0.05)
    assert paths.jitter == 0.0
    twice = np.concatenate([np.linspace(0, 1, 40), np.linspace(0, 1, 40)])[:, None]
    singular = prior_paths(kernels.Gaussian(1.0), twice, 2, key=jax.random.key(0))
    assert 0 < singular.jitter < 1e-9
    np.testing.assert_allclose(singular.values[:, :40], singular.values[:, 40:], atol=1e-4)


def test_posterior_paths_pass_through_exact_data(sample):
    x, _ = sample
    posterior = machines.gp_regression(kernels.Gaussian(0.5), x, np.sin(x[:, 0]), 1e-8)
    paths = posterior.paths(x, 5, key=jax.random.key(1)).values
    np.testing.assert_allclose(paths, np.tile(np.sin(x[:, 0]), (5, 1)), atol=1e-3)


def test_bad_input(sample):
    x, y = sample
    with pytest.raises(ValueError, match="noise variance -1"):
        machines.gp_regression(kernels.Gaussian(1.0), x, y, -1.0)
    with pytest.raises(ValueError, match="at least one path"):
        gaussian_paths(np.eye(2), 0, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"the least is -1 "):
        gaussian_paths(np.array([[0.0, 1.0], [1.0, 0.0]]), 1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="above 0"):
        machines.maximise_evidence(kernels.Gaussian(1.0), x, y, 0.0)
    with pytest.raises(ValueError, match="nothing to move"):
        machines.maximise_evidence(kernels.Linear(), x, y, 1.0, fix_noise=True)
    with pytest.raises(ValueError, match="one target per input"):
        machines.maximise_evidence(kernels.Linear(), x, y[:-1], 1.0)
