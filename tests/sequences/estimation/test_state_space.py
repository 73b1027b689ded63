import jax
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from state_space_models import FULL

from leadline.sequences import diffuse_start, kalman_filter, linear_gaussian, observability_matrix


def test_the_stationary_prior_is_scipys_solution_of_lyapunovs_equation():
    A, Q = 0.9 * FULL / np.abs(np.linalg.eigvals(FULL)).max(), FULL @ FULL.T
    model = linear_gaussian(A, np.eye(4), Q, np.eye(4))
    np.testing.assert_allclose(model.covariance, solve_discrete_lyapunov(A, Q), rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1.0, 0.1, 1.0), "no prior and A with an eigenvalue of modulus 1,"),
        ((0.5, 1.0, -0.1, 1.0), "Q with the eigenvalue -0.1; a covariance is positive semi-definite"),
        ((0.5, 1.0, 0.1, -2.0), "R with the eigenvalue -2;"),
        ((np.eye(2) / 2, np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]), np.eye(2)), "Q with the eigenvalue -1;"),
        ((np.eye(2) / 2, np.eye(2), np.array([[1.0, 0.5], [0.0, 1.0]]), np.eye(2)), "Q, which is not symmetric"),
        ((np.eye(2) / 2, np.eye(2), np.eye(3), np.eye(2)), r"Q of shape \(3, 3\)"),
        ((0.5, 1.0, np.nan, 1.0), "Q with entries that are not finite"),
        ((0.5, 1.0, 0.1, 1.0, 0.0), "a mean of h₀ without its covariance"),
        ((0.5, 1.0, 0.1, 1.0, np.zeros(2), np.eye(2)), r"mean of shape \(2,\)"),
        ((0.5, 1.0, 0.1, 1.0, 0.0, -1.0), "covariance with the eigenvalue -1;"),
    ],
)
def test_bad_input_is_told_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        linear_gaussian(*arguments)


def test_a_pair_that_is_not_observable_is_said():
    with pytest.warns(UserWarning, match=r"not observable: its observability matrix has rank 1 of 2"):
        linear_gaussian(0.5 * np.eye(2), np.array([[1.0, 0.0]]), np.eye(2), 1.0)
    assert np.linalg.matrix_rank(observability_matrix(np.eye(2), np.array([[1.0, 0.0]]))) == 1


def test_a_diffuse_start_is_the_limit_of_wide_priors():
    A, C, Q, R = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.diag([0.3, 0.1]), 0.7
    xs = np.array([1.0, 2.5, 2.0])
    found = diffuse_start(A, C, Q, R, xs)
    wide = kalman_filter(linear_gaussian(A, C, Q, R, np.zeros(2), 1e7 * np.eye(2)), xs)
    np.testing.assert_allclose(found.mean, wide.means[-1], rtol=1e-5)
    np.testing.assert_allclose(found.covariance, wide.covariances[-1], rtol=1e-5)
    with pytest.raises(ValueError, match="determine 1 of the 2 numbers"):
        diffuse_start(A, C, Q, R, xs[:1])


def test_it_is_built_under_a_gradient():
    def trace(a):
        return linear_gaussian(a, 1.0, 0.75, 1.0).covariance[0, 0]

    np.testing.assert_allclose(jax.grad(trace)(0.5), 0.75 * 2 * 0.5 / 0.75**2)
