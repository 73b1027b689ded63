"""Closed-form training of wide networks against matrix exponentials, explicit iteration and a trained linear model."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from leadline import infinite_width
from leadline.infinite_width import WideTraining, nngp_posterior

n, m = 5, 3
rng = np.random.default_rng(0)
PHI = rng.standard_normal((n + m, 9))  # tangent features of a model that is linear in 9 parameters
THETA = PHI @ PHI.T
START = rng.standard_normal((n + m, 2 * (n + m)))
K = START @ START.T / 8
Y = rng.standard_normal((n, 2))
train, test = slice(0, n), slice(n, n + m)


def wide(step=None, y=Y):
    training = WideTraining(THETA[train, train], y, nngp=K[train, train], step_size=step)
    return training, training.at(THETA[test, train], nngp=K[test, train], nngp_points=K[test, test])


def flowed_by_expm(t):
    """The linear map that carries (f₀(X), f₀(x), y) to f(t), from the exponential of the whole system's generator."""
    generator = np.zeros((2 * n + m, 2 * n + m))
    generator[: n + m, :n] = -THETA[:, train]
    generator[: n + m, n + m :] = THETA[:, train]
    return expm(generator * t)[: n + m]


def law_by_map(move):
    start, targets = move[:, : n + m], move[:, n + m :]
    return targets @ Y, start @ K @ start.T


@pytest.mark.parametrize("t", [0.0, 0.03, 2.0])
def test_gradient_flow_is_the_matrix_exponential_of_the_whole_system(t):
    mean, covariance = law_by_map(flowed_by_expm(t))
    training, prediction = wide()
    np.testing.assert_allclose(training.mean(t), mean[train], atol=1e-11)
    np.testing.assert_allclose(prediction.mean(t), mean[test], atol=1e-11)
    np.testing.assert_allclose(training.covariance(t), covariance[train, train], atol=1e-11)
    np.testing.assert_allclose(prediction.covariance(t), covariance[test, test], atol=1e-11)


def test_gradient_descent_is_the_iteration():
    step = 1.9 / np.linalg.eigvalsh(THETA[train, train])[-1]
    f0 = rng.standard_normal((n + m, 2))
    move, f = np.hstack([np.eye(n + m), np.zeros((n + m, n))]), f0
    training, prediction = wide(step)
    for count in range(31):
        if count in (0, 1, 30):
            mean, covariance = law_by_map(move)
            np.testing.assert_allclose(training.mean(count), mean[train], atol=1e-11)
            np.testing.assert_allclose(training.covariance(count), covariance[train, train], atol=1e-11)
            np.testing.assert_allclose(prediction.mean(count), mean[test], atol=1e-11)
            np.testing.assert_allclose(prediction.covariance(count), covariance[test, test], atol=1e-11)
            np.testing.assert_allclose(training.from_start(f0[train], count), f[train], atol=1e-11)
            np.testing.assert_allclose(prediction.from_start(f0[train], f0[test], count), f[test], atol=1e-11)
        f = f + step * THETA[:, train] @ (Y - f[train])
        pull = -move[train].copy()
        pull[:, n + m :] += np.eye(n)
        move = move + step * THETA[:, train] @ pull


def test_it_predicts_the_trained_linear_model_from_its_start():
    beta0 = rng.standard_normal((9, 2))
    beta, step, steps = beta0.copy(), 0.9 / np.linalg.eigvalsh(THETA[train, train])[-1], 400
    for _ in range(steps):
        beta -= step * PHI[train].T @ (PHI[train] @ beta - Y)
    f0 = PHI @ beta0
    training, prediction = wide(step)
    np.testing.assert_allclose(prediction.from_start(f0[train], f0[test], steps), PHI[test] @ beta, atol=1e-10)
    np.testing.assert_allclose(training.from_start(f0[train], steps), PHI[train] @ beta, atol=1e-10)


def test_at_infinity_it_is_kernel_regression_and_times_may_be_an_array():
    training, prediction = wide()
    A = THETA[test, train] @ np.linalg.inv(THETA[train, train])
    np.testing.assert_allclose(prediction.weights(), A, atol=1e-10)
    np.testing.assert_allclose(training.mean(), Y, atol=1e-11)
    np.testing.assert_allclose(training.covariance(), 0, atol=1e-11)
    times = np.array([0.0, 0.5, math.inf])
    assert prediction.covariance(times).shape == (3, m, m)
    many = prediction.mean(times)
    for i, t in enumerate(times):
        np.testing.assert_allclose(many[i], prediction.mean(t), atol=1e-13)
    np.testing.assert_allclose(many[2], A @ Y, atol=1e-10)


def test_the_loss_is_that_of_mean_and_covariance():
    training, _ = wide()
    mean, covariance = np.asarray(training.mean(0.1)), np.asarray(training.covariance(0.1))
    np.testing.assert_allclose(
        training.loss(0.1), 0.5 * (np.sum((mean - Y) ** 2) + 2 * np.trace(covariance)), rtol=1e-12
    )


@pytest.mark.parametrize("step", [None, 0.1])
def test_two_labels_at_a_repeated_point_end_at_their_average(step):
    ones = np.ones((2, 2))
    training = WideTraining(ones, np.array([1.0, 0.0]), nngp=ones, step_size=step)
    there = training.at(np.ones((1, 2)), nngp=np.ones((1, 2)), nngp_points=np.ones((1, 1)))
    np.testing.assert_allclose(training.mean(), [0.5, 0.5], atol=1e-14)
    np.testing.assert_allclose(there.mean(), [0.5], atol=1e-14)
    np.testing.assert_allclose(there.covariance(), [[0.0]], atol=1e-14)
    assert np.isfinite(training.mean(1e9)).all()
    np.testing.assert_allclose(training.from_start(np.array([2.0, -1.0])), [2.0, -1.0], atol=1e-14)


def test_a_kernel_of_zeros_never_moves():
    training = WideTraining(np.zeros((2, 2)), np.ones(2), nngp=np.eye(2))
    np.testing.assert_array_equal(training.mean(), [0.0, 0.0])
    np.testing.assert_array_equal(training.covariance(), np.eye(2))


def test_last_layer_training_is_the_posterior_without_noise():
    law = nngp_posterior(K[train, train], Y, K[test, train], K[test, test])
    training = WideTraining(K[train, train], Y, nngp=K[train, train])
    prediction = training.at(K[test, train], nngp=K[test, train], nngp_points=K[test, test])
    np.testing.assert_allclose(law.mean, prediction.mean(), atol=1e-10)
    np.testing.assert_allclose(law.covariance, prediction.covariance(), atol=1e-10)


def test_the_posterior_with_noise_conditions_the_joint_gaussian():
    noise = 0.7
    joint = np.block([[K[train, train] + noise**2 * np.eye(n), K[train, test]], [K[test, train], K[test, test]]])
    precision = np.linalg.inv(joint)[n:, :]
    covariance = np.linalg.inv(precision[:, n:])
    law = nngp_posterior(K[train, train], Y, K[test, train], K[test, test], noise=noise)
    np.testing.assert_allclose(law.covariance, covariance, atol=1e-11)
    np.testing.assert_allclose(law.mean, -covariance @ precision[:, :n] @ Y, atol=1e-11)


def test_train_wide_takes_layers_and_kernel_functions():
    layer = infinite_width.dense_stack(2, "relu", W_std=1.4, b_std=0.1)
    x, y, z = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((2, 3))
    first = infinite_width.train_wide(layer, x, y, z)
    second = infinite_width.train_wide(layer.kernel_fn, x, y, z, step_size=0.05)
    theta, cross = (np.asarray(layer.kernel_fn(jnp.asarray(a), jnp.asarray(x), get="ntk")) for a in (x, z))
    np.testing.assert_allclose(first.mean(), cross @ np.linalg.solve(theta, y), atol=1e-9)
    np.testing.assert_allclose(second.mean(), first.mean(), atol=1e-9)
    assert np.linalg.eigvalsh(np.asarray(first.covariance()))[0] > -1e-12
    with pytest.raises(ValueError, match="same features"):
        infinite_width.train_wide(layer, x, y, z[:, :2])
    with pytest.raises(ValueError, match="no layer"):
        infinite_width.train_wide(3, x, y, z)


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"not positive semidefinite: eigenvalue 1 of 2 is -1 .*tolerance"):
        WideTraining(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))
    with pytest.raises(ValueError, match="not symmetric"):
        WideTraining(np.array([[1.0, 0.5], [0.0, 1.0]]), np.ones(2))
    with pytest.raises(ValueError, match=r"nan at \(0, 1\)"):
        WideTraining(np.array([[1.0, np.nan], [np.nan, 1.0]]), np.ones(2))
    with pytest.raises(ValueError, match="square"):
        WideTraining(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match="targets has the shape"):
        WideTraining(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="step_size = -1"):
        WideTraining(np.eye(2), np.ones(2), step_size=-1.0)
    with pytest.raises(ValueError, match="negative"):
        WideTraining(np.eye(2), np.ones(2)).mean(-1.0)
    with pytest.raises(ValueError, match="whole numbers"):
        WideTraining(np.eye(2), np.ones(2), step_size=0.1).mean(1.5)
    with pytest.raises(ValueError, match=r"no limit.*choose a step below 2"):
        WideTraining(np.eye(2), np.ones(2), step_size=2.5).mean()
    with pytest.raises(ValueError, match="need the NNGP"):
        WideTraining(np.eye(2), np.ones(2)).covariance()
    with pytest.raises(ValueError, match="nngp_points="):
        WideTraining(np.eye(2), np.ones(2), nngp=np.eye(2)).at(np.ones((1, 2))).covariance()
    with pytest.raises(ValueError, match="not a standard deviation"):
        nngp_posterior(np.eye(2), np.ones(2), np.ones((1, 2)), np.eye(1), noise=-1.0)


def test_single_precision_warns_with_the_loss():
    x = np.linspace(0, 1, 8)
    smooth = np.exp(-((x[:, None] - x) ** 2))
    with pytest.warns(UserWarning, match=r"single precision.*relative errors of about"):
        training = WideTraining(jnp.asarray(smooth, jnp.float32), np.ones(8), tolerance=1e-4)
    assert training.mean(1.0).dtype == jnp.float32
