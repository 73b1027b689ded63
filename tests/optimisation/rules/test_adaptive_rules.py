"""Adaptive rules against their recursions written out in NumPy, and against Optax where it has the same rule."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import optimisation
from leadline.optimisation.rules.adaptive_rules import with_largest_step

GRADIENTS = np.random.default_rng(0).standard_normal((30, 3)) * [1e-3, 1.0, 50.0]


def test_adagrad_divides_by_the_root_of_the_sum_with_delta_outside():
    made = optimisation.respond(optimisation.adagrad(0.3, 0.01), jnp.asarray(GRADIENTS))
    expected = -0.3 * GRADIENTS / (np.sqrt(np.cumsum(GRADIENTS**2, axis=0)) + 0.01)
    np.testing.assert_allclose(made, expected, rtol=1e-12)


def test_adagrad_without_delta_leaves_a_parameter_without_gradient_where_it_is():
    rule = optimisation.adagrad(0.3, 0.0)
    change, _ = rule.update(jnp.zeros(2), rule.init(jnp.zeros(2)))
    assert change.tolist() == [0.0, 0.0]


def test_uncorrected_adam_is_adam_with_the_corrections_undone():
    b1, b2 = 0.8, 0.95
    ours = np.asarray(optimisation.respond(optimisation.uncorrected_adam(1.0, b1, b2, 0.0), jnp.asarray(GRADIENTS)))
    adam = np.asarray(optimisation.respond(optax.adam(1.0, b1, b2, 0.0), jnp.asarray(GRADIENTS)))
    t = np.arange(1, 31)[:, None]
    np.testing.assert_allclose(ours, adam * (1 - b1**t) / np.sqrt(1 - b2**t), rtol=1e-9)


def test_amsgrad_of_the_raw_maximum_corrects_afterwards():
    b1, b2, t = 0.5, 0.9, np.arange(1, 31)[:, None]
    made = optimisation.respond(optimisation.amsgrad_of_raw_maximum(1.0, b1, b2, 1e-8), jnp.asarray(GRADIENTS))
    m = np.zeros(3)
    v = largest = np.zeros(3)
    expected = []
    for k, g in enumerate(GRADIENTS, start=1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        largest = np.maximum(largest, v)
        expected.append(-(m / (1 - b1**k)) / (np.sqrt(largest / (1 - b2**k)) + 1e-8))
    np.testing.assert_allclose(made, expected, rtol=1e-9)
    assert t.size == 30


def test_the_largest_step_is_remembered_over_leaves_and_steps():
    rule = with_largest_step(optax.sgd(2.0))
    w = {"a": jnp.zeros(2), "b": jnp.zeros(1)}
    state = rule.init(w)
    for size in (1.0, 5.0, 0.5):
        change, state = rule.update({"a": jnp.array([0.1, size]), "b": jnp.array([-0.2])}, state, w)
    assert float(state.largest) == 10.0
    assert float(change["b"][0]) == pytest.approx(0.4)
