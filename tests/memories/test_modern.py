"""Modern Hopfield networks against NumPy loops, gradients, and the proof's own inequality."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import data, memories
from leadline.memories.modern import modern_associate


def numpy_update(keys, values, state, beta):
    scores = np.array([beta * key @ state for key in keys])
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ values


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), beta=st.floats(0.0, 20.0))
def test_the_update_is_a_softmax_average_of_the_patterns(seed, beta):
    rng = np.random.default_rng(seed)
    patterns, values, states = rng.normal(size=(6, 4)), rng.normal(size=(6, 3)), rng.normal(size=(5, 4))
    found = memories.modern_update(patterns, states, beta=beta)
    np.testing.assert_allclose(found, [numpy_update(patterns, patterns, s, beta) for s in states], atol=1e-12)
    found = modern_associate(patterns, values, states, beta=beta)
    np.testing.assert_allclose(found, [numpy_update(patterns, values, s, beta) for s in states], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), beta=st.floats(0.01, 20.0))
def test_an_update_never_raises_the_energy(seed, beta):
    rng = np.random.default_rng(seed)
    patterns, states = rng.normal(size=(6, 4)), 3 * rng.normal(size=(5, 4))
    before = memories.modern_energy(patterns, states, beta=beta)
    after = memories.modern_energy(patterns, memories.modern_update(patterns, states, beta=beta), beta=beta)
    assert jnp.all(after <= before + 1e-12)


def test_the_update_is_a_gradient_step_of_length_one_on_the_energy():
    rng = np.random.default_rng(1)
    patterns, state = jnp.asarray(rng.normal(size=(6, 4))), jnp.asarray(rng.normal(size=4))
    gradient = jax.grad(lambda xi: memories.modern_energy(patterns, xi[None], beta=1.7)[0])(state)
    np.testing.assert_allclose(memories.modern_update(patterns, state[None], beta=1.7)[0], state - gradient, atol=1e-12)


def test_beta_zero_gives_the_mean_and_a_large_beta_the_nearest_digit():
    bitmaps = data.digit_bitmaps()
    mean = np.tile(bitmaps.mean(0), (10, 1))
    np.testing.assert_allclose(memories.modern_update(bitmaps, bitmaps, beta=0.0), mean, atol=1e-12)
    np.testing.assert_allclose(memories.modern_update(bitmaps, bitmaps, beta=10.0), bitmaps, atol=1e-12)


def test_separations_are_those_of_a_double_loop():
    patterns = np.random.default_rng(2).normal(size=(7, 3))
    direct = [p @ p - max(q @ p for s, q in enumerate(patterns) if s != t) for t, p in enumerate(patterns)]
    np.testing.assert_allclose(memories.separations(patterns), direct, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), beta=st.floats(0.01, 5.0), noise=st.floats(0.0, 1.0))
def test_one_update_lands_within_the_retrieval_bound(seed, beta, noise):
    rng = np.random.default_rng(seed)
    patterns, targets = rng.normal(size=(8, 20)), rng.integers(0, 8, 6)
    states = patterns[targets] + noise * rng.normal(size=(6, 20))
    error = np.linalg.norm(memories.modern_update(patterns, states, beta=beta) - patterns[targets], axis=1)
    assert np.all(error <= memories.retrieval_bound(patterns, states, targets, beta=beta) * (1 + 1e-12) + 1e-12)


def test_the_bound_is_the_formula_written_out():
    patterns, state = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.9, 0.0]])
    expected = 2 * 2 * 1 * np.exp(-3.0 * (4.0 - 2 * 2 * 0.1))
    np.testing.assert_allclose(memories.retrieval_bound(patterns, state, np.array([0]), beta=3.0), [expected])


def test_retrieval_ends_at_a_fixed_point_and_respects_its_number_of_steps():
    rng = np.random.default_rng(3)
    patterns, states = rng.normal(size=(5, 8)), rng.normal(size=(4, 8))
    found = memories.modern_retrieve(patterns, states, beta=2.0, num_steps=1000, tolerance=1e-13)
    np.testing.assert_allclose(memories.modern_update(patterns, found, beta=2.0), found, atol=1e-12)
    once = memories.modern_retrieve(patterns, states, beta=2.0, num_steps=1)
    np.testing.assert_allclose(once, memories.modern_update(patterns, states, beta=2.0), atol=1e-14)


def test_updates_can_be_jitted_over_beta_and_keep_single_precision():
    patterns = jnp.eye(3, dtype=jnp.float32)
    update = jax.jit(lambda beta: memories.modern_update(patterns, patterns, beta=beta))
    assert update(jnp.float32(2.0)).dtype == jnp.float32


def test_bad_input_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="must not be negative"):
        memories.modern_update(np.eye(2), np.eye(2), beta=-1.0)
    with pytest.raises(ValueError, match="must be positive"):
        memories.modern_energy(np.eye(2), np.eye(2), beta=0.0)
    with pytest.raises(ValueError, match="at least two"):
        memories.separations(np.ones((1, 2)))
