import numpy as np
import pytest
from state_space_models import models, series

from leadline.sequences import joint_distribution, kalman_filter, kalman_smoother, linear_gaussian

T = 12


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize("method", ["loop", "scan"])
@pytest.mark.parametrize("name", models())
def test_it_equals_conditioning_on_all_observations(name, method, gaps):
    model = models()[name]
    xs = series(model, T, gaps=gaps)
    found = kalman_smoother(model, xs, method=method)
    exact = joint_distribution(model, T).given(xs)
    np.testing.assert_allclose(found.means, exact.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.covariances, exact.covariances, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, rtol=1e-10)


@pytest.mark.parametrize("method", ["loop", "scan"])
def test_a_state_that_is_known_exactly_stays_so(method):
    """An autoregression seen without noise: predicted covariances are singular, and the smoother does not mind."""
    model = linear_gaussian(np.array([[0.5, 0.3], [1.0, 0.0]]), np.array([[1.0, 0.0]]), np.diag([1.0, 0.0]), 0.0)
    xs = series(model, 8, gaps=False)
    found = kalman_smoother(model, xs, method=method)
    np.testing.assert_allclose(found.means[:, 0], xs[:, 0], atol=1e-9)
    np.testing.assert_allclose(found.means[1:, 1], xs[:-1, 0], atol=1e-9)


def test_the_variance_is_below_the_filters_but_for_the_end():
    model = models()["scalar"]
    smoothed = kalman_smoother(model, np.zeros(30)).covariances[:, 0, 0]
    filtered = kalman_filter(model, np.zeros(30)).covariances[:, 0, 0]
    assert np.all(smoothed[:-1] < filtered[:-1])
    assert smoothed[-1] == filtered[-1]
