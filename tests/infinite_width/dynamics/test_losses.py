"""The function-space flow against SciPy's integrator, and against the closed form where there is one."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import softmax

from leadline import infinite_width
from leadline.infinite_width import WideTraining, function_flow

rng = np.random.default_rng(1)
n, m, classes = 5, 2, 3
PHI = rng.standard_normal((n + m, 12)) / 2
THETA = PHI @ PHI.T
LABELS = np.array([0, 1, 2, 1, 0])
START = rng.standard_normal((n + m, classes))
TIMES = np.array([0.0, 0.4, 3.0])


def either(outputs, targets):
    """Softmax cross-entropy where the first target is 1, half the squared error where it is 0: one program for both."""
    choice, y = targets
    squares = 0.5 * jnp.sum((outputs - y) ** 2)
    return choice * infinite_width.softmax_cross_entropy(outputs, y) + (1 - choice) * squares


def flowed(theta, choice, y, start):
    return function_flow(theta, (choice, y), TIMES, loss=either, start=start, max_steps=2000)


def test_softmax_flow_is_that_of_solve_ivp_on_train_and_test_points():
    def velocity(t, flat):
        f = flat.reshape(n + m, classes)
        return (-THETA[:, :n] @ (softmax(f[:n], axis=1) - np.eye(classes)[LABELS])).ravel()

    known = solve_ivp(velocity, (0, 3), START.ravel(), method="DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-12)
    known = known.y.T.reshape(3, n + m, classes)
    flow = flowed(THETA[:n, :n], 1.0, np.eye(classes)[LABELS], START[:n])
    np.testing.assert_allclose(flow.outputs, known[:, :n], atol=1e-6)
    np.testing.assert_allclose(flow.at(THETA[n:, :n], START[n:]), known[:, n:], atol=1e-6)
    np.testing.assert_allclose(flow.times, TIMES)


def test_the_squared_loss_gives_the_closed_form():
    y = rng.standard_normal((n, classes))
    flow = flowed(THETA[:n, :n], 0.0, y, START[:n])
    training = WideTraining(THETA[:n, :n], y)
    np.testing.assert_allclose(flow.outputs, training.from_start(START[:n], TIMES), atol=1e-7)
    here = training.at(THETA[n:, :n]).from_start(START[:n], START[n:], TIMES)
    np.testing.assert_allclose(flow.at(THETA[n:, :n], START[n:]), here, atol=1e-7)


def test_a_network_can_be_named_by_its_layers():
    x = np.eye(2)
    layer = infinite_width.dense_stack(1, "relu")
    flow, seen = infinite_width.train_wide_on_loss(layer, x, np.arange(2), x[:1] + 0.1, np.array([5.0]))
    assert flow.outputs.shape == (1, 2, 2)
    assert flow.outputs[-1].argmax(axis=1).tolist() == [0, 1]
    assert seen[-1].argmax(axis=1).tolist() == [0]


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="more than max_steps = 2000"):
        flowed(1e5 * THETA[:n, :n], 0.0, np.eye(classes)[LABELS], START[:n])
    with pytest.raises(ValueError, match="increasing"):
        function_flow(THETA[:n, :n], LABELS, np.array([1.0, 1.0]))
    with pytest.raises(ValueError, match="class numbers"):
        function_flow(THETA[:n, :n], np.zeros(n), TIMES)
    with pytest.raises(ValueError, match="start is needed"):
        function_flow(THETA[:n, :n], LABELS, TIMES, loss=either)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        function_flow(-np.eye(n), LABELS, TIMES)
