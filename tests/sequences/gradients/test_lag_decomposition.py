import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences


def step(w, z, x):
    return jnp.tanh(w @ z + x)


@pytest.fixture
def problem():
    w = 0.7 * jax.random.normal(jax.random.key(0), (3, 3))
    x, slopes = jax.random.normal(jax.random.key(1), (2, 6, 3))
    return w, x, slopes


def total(w, x, slopes, window=6):
    z = sequences.truncated_trajectory(lambda z, x: step(w, z, x), jnp.zeros(3), x, window)
    return jnp.sum(slopes * z)


def test_the_parts_sum_to_the_gradient(problem):
    w, x, slopes = problem
    parts = sequences.gradient_by_lag(step, w, jnp.zeros(3), x, slopes)
    np.testing.assert_allclose(parts.parameters.sum(axis=0), jax.grad(total)(w, x, slopes), rtol=1e-4, atol=1e-5)
    assert np.all(parts.adjoints[2, 4:] == 0)  # no loss two steps after the last


def test_with_a_window_they_sum_to_the_truncated_gradient(problem):
    w, x, slopes = problem
    parts = sequences.gradient_by_lag(step, w, jnp.zeros(3), x, slopes, window=4)
    np.testing.assert_allclose(parts.parameters.sum(axis=0), jax.grad(total)(w, x, slopes, 4), rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused(problem):
    w, x, slopes = problem
    with pytest.raises(ValueError, match="one row for each step"):
        sequences.gradient_by_lag(step, w, jnp.zeros(3), x, slopes[:2])
    with pytest.raises(ValueError, match="window=0"):
        sequences.gradient_by_lag(step, w, jnp.zeros(3), x, slopes, window=0)
