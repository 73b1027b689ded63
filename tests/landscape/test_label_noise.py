"""Descent with label noise on a factorisation."""

import jax
import numpy as np
import pytest

from leadline.landscape.label_noise import label_noise_path

KEY = jax.random.key(0)


def test_a_step_is_a_gradient_step_of_the_noisy_loss():
    rng = np.random.default_rng(0)
    a, b, g = rng.normal(size=(3, 2)), rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    path = label_noise_path(a, b, g, step_size=0.01, noise=0.3, num_steps=2, runs=3, key=KEY)
    for run in range(3):
        labels = a @ b - path.residuals[0, run]

        def loss(a, b, labels=labels):
            return np.sum((a @ b - labels) ** 2) / 2

        slope = np.array([[(loss(a + h, b) - loss(a - h, b)) / 2e-6 for h in row] for row in 1e-6 * unit(3, 2)])
        np.testing.assert_allclose(path.left[1, run], a - 0.01 * slope, atol=1e-8)
        slope = np.array([[(loss(a, b + h) - loss(a, b - h)) / 2e-6 for h in row] for row in 1e-6 * unit(2, 4)])
        np.testing.assert_allclose(path.right[1, run], b - 0.01 * slope, atol=1e-8)


def unit(rows, columns):
    return np.eye(rows * columns).reshape(rows, columns, rows, columns)


def test_without_noise_it_converges_and_keeps_the_imbalance_to_first_order():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))
    drifts = []
    for step in (0.01, 0.005):
        path = label_noise_path(a, b, np.eye(2), step_size=step, noise=0.0, num_steps=int(40 / step), key=KEY)
        assert np.abs(path.left[-1] @ path.right[-1] - np.eye(2)).max() < 1e-4
        drifts.append(abs(path.imbalance[-1, 0] - path.imbalance[0, 0]))
    assert drifts[1] < 0.7 * drifts[0]


def test_the_noise_has_the_deviation_that_was_asked_for():
    one = np.ones((1, 1))
    path = label_noise_path(one, one, one, step_size=1e-9, noise=0.7, num_steps=50, runs=200, key=KEY)
    assert path.residuals.std() == pytest.approx(0.7, rel=0.03)


def test_bad_input():
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="positive step"):
        label_noise_path(one, one, one, step_size=0.0, noise=0.1, num_steps=5, key=KEY)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="diverges"):
        label_noise_path(9 * one, one, one, step_size=1.0, noise=0.0, num_steps=50, key=KEY)
