import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences
from leadline.sequences.gradients.state_vectors import finite_trajectory, state_vectors


def test_the_vector_of_a_state_stands_for_it():
    cell = sequences.LSTM(2, 3, key=jax.random.key(0))
    step, z = state_vectors(cell.update, cell.init())
    x = jnp.array([0.3, -1.0])
    moved = cell.update(cell.init(), x)
    np.testing.assert_allclose(step(z, x), jnp.concatenate(jax.tree.leaves(moved)), rtol=1e-6)
    np.testing.assert_allclose(step.state(step(z, x)).c, moved.c, rtol=1e-6)


def test_complex_states_are_pairs_of_real_numbers():
    cell = sequences.LRU(1, 4, 2, key=jax.random.key(0))
    states = sequences.trajectory(cell.update, cell.init(), jnp.ones((5, 1)))
    assert states.shape == (6, 8)
    last = sequences.run(cell, jnp.ones((5, 1))).last
    np.testing.assert_allclose(states[-1], jnp.concatenate([last.real, last.imag]), rtol=1e-5)


def test_a_step_that_changes_the_shape_of_its_state_is_refused():
    with pytest.raises(ValueError, match="must keep them"):
        sequences.trajectory(lambda z, x: jnp.concatenate([z, x]), jnp.zeros(2), jnp.ones((3, 1)))


def test_a_state_of_integers_is_refused():
    with pytest.raises(ValueError, match="floating-point"):
        sequences.trajectory(lambda z, x: z + 1, jnp.zeros(2, int), jnp.ones((3, 1)))


def test_the_step_of_an_overflow_is_named():
    start = jnp.ones(1, jnp.float32)
    with pytest.raises(ValueError, match="from step 128 of 150 on"):
        finite_trajectory(lambda z, x: 2 * z, start, jnp.zeros(150))
    assert sequences.overflow_step(np.array([[[1.0], [2.0]], [[1.0], [np.nan]]])) == 1
    assert sequences.overflow_step(np.ones((3, 2))) is None
