"""The kernel flow against matrix exponentials, Euler's rule and a singular kernel."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from leadline import learning
from leadline.kernels import Gaussian, Laplace
from leadline.tangent import KernelFlow, functional_gradient

rng = np.random.default_rng(1)
X, Y, Z = rng.uniform(-1, 1, (6, 2)), rng.standard_normal(6), rng.uniform(-1, 1, (3, 2))
START, AT = np.sin(X[:, 0]), np.sin(Z[:, 0])
K = Laplace(0.7)(X, X)


def test_values_follow_the_matrix_exponential_and_new_points_their_integral():
    flow = KernelFlow(Laplace(0.7), X, Y, start=START)
    t = 1.7
    decay = expm(-2 * K * t / 6)
    np.testing.assert_allclose(flow.values(t), Y + decay @ (START - Y), atol=1e-12)
    alpha = np.linalg.solve(K, (np.eye(6) - decay) @ (Y - START))
    np.testing.assert_allclose(flow.coefficients(t), alpha, atol=1e-11)
    np.testing.assert_allclose(flow.at(Z, t, start=AT), AT + Laplace(0.7)(Z, X) @ alpha, atol=1e-11)
    np.testing.assert_allclose(flow.risk(np.array([0.0, math.inf])), [np.mean((START - Y) ** 2), 0.0], atol=1e-20)


def test_euler_counts_steps_and_its_bound_is_where_it_explodes():
    step = 0.4
    r = START - Y
    for _ in range(5):
        r = r - step * 2 / 6 * (K @ r)
    np.testing.assert_allclose(
        KernelFlow(Laplace(0.7), X, Y, start=START, step_size=step).values(5.0), Y + r, atol=1e-12
    )
    bound = KernelFlow(Laplace(0.7), X, Y).largest_step
    assert bound == pytest.approx(6 / np.linalg.eigvalsh(K)[-1])


def test_a_doubled_point_with_two_labels_keeps_half_their_difference():
    flow = KernelFlow(Gaussian(0.5), np.concatenate([X, X[:1]]), np.append(Y, Y[0] + 3))
    np.testing.assert_allclose((np.asarray(flow.values()) - np.append(Y, Y[0] + 3))[[0, -1]], [1.5, -1.5], atol=1e-8)


def test_the_functional_gradient_of_the_squared_risk_is_that_of_its_coefficients():
    alpha = rng.standard_normal(6)
    gradient = functional_gradient(Laplace(0.7), X, K @ alpha, Y, learning.squared)
    np.testing.assert_allclose(gradient.coefficients, 2 / 6 * (K @ alpha - Y), rtol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one target"):
        KernelFlow(Laplace(0.7), X, Y[:3])
    with pytest.raises(ValueError, match="one of each"):
        functional_gradient(Laplace(0.7), X, Y[:3], Y, learning.squared)
