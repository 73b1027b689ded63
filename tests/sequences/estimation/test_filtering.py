import jax
import jax.numpy as jnp
import numpy as np
import pytest
from state_space_models import models, series

from leadline.sequences import KalmanFilter, joint_distribution, kalman_filter, linear_gaussian, run

T = 12


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize("method", ["loop", "scan"])
@pytest.mark.parametrize("name", models())
def test_it_equals_conditioning_on_each_prefix(name, method, gaps):
    model = models()[name]
    xs = series(model, T, gaps=gaps)
    found = kalman_filter(model, xs, method=method)
    joint = joint_distribution(model, T)
    for t in range(T):
        prefix = np.where(np.arange(T)[:, None] <= t, xs, np.nan)
        exact = joint.given(prefix)
        np.testing.assert_allclose(found.means[t], exact.means[t], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.covariances[t], exact.covariances[t], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, rtol=1e-10)


@pytest.mark.parametrize("name", models())
def test_as_a_cell_it_gives_the_same_means_one_by_one(name):
    model = models()[name]
    xs = jnp.asarray(series(model, T, gaps=True))
    cell = KalmanFilter(model)
    course = run(cell, xs)
    np.testing.assert_allclose(jax.vmap(cell.predict)(course.states), kalman_filter(model, xs).means, atol=1e-12)


def test_an_observation_without_noise_is_believed():
    found = kalman_filter(linear_gaussian(0.5, 1.0, 0.1, 0.0), np.array([1.0, -2.0]))
    np.testing.assert_array_equal(found.means[:, 0], [1.0, -2.0])
    np.testing.assert_array_equal(found.covariances, 0.0)


@pytest.mark.parametrize("method", ["loop", "scan"])
def test_gradients_of_the_likelihood_pass_missing_numbers(method):
    xs = np.array([1.0, np.nan, 0.5, 2.0])

    def log_likelihood(q):
        return kalman_filter(linear_gaussian(0.9, 1.0, q, 1.0, 0.0, 1.0), xs, method=method).log_likelihood

    at, step = 0.3, 1e-5
    numeric = (log_likelihood(at + step) - log_likelihood(at - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(log_likelihood)(at), numeric, rtol=1e-6)


def test_bad_input_is_told_in_a_sentence():
    model = linear_gaussian(0.5, 1.0, 0.1, 1.0)
    with pytest.raises(ValueError, match="observations of shape"):
        kalman_filter(model, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="infinite"):
        kalman_filter(model, np.array([1.0, np.inf]))
    with pytest.raises(ValueError, match="observation 2"):  # nothing is random after the first
        kalman_filter(linear_gaussian(1.0, 1.0, 0.0, 0.0, 0.0, 1.0), np.array([1.0, 2.0]))


def test_single_precision_keeps_a_small_variance():
    one = jnp.float32
    model = linear_gaussian(one(0.9), one(1.0), one(1.0), one(1e-6), one(0.0), one(1.0))
    found = kalman_filter(model, jnp.zeros(50, one))
    assert found.covariances.dtype == one
    exact = kalman_filter(linear_gaussian(0.9, 1.0, 1.0, 1e-6, 0.0, 1.0), np.zeros(50))
    np.testing.assert_allclose(found.covariances, exact.covariances, rtol=2e-6)
