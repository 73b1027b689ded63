import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import sequences, training


def test_the_numbers_of_a_truncated_pass_are_those_of_the_whole():
    cell = sequences.GRU(2, 3, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (7, 2))
    found = sequences.truncated_trajectory(cell.update, cell.init(), x, 3)
    np.testing.assert_allclose(found, sequences.run(cell, x).states, rtol=1e-5, atol=1e-6)


def test_gradients_do_not_pass_from_one_window_to_the_next():
    def last(start):
        return sequences.truncated_trajectory(lambda z, x: 0.5 * z + x, start, jnp.ones((4, 1)), 2)[-1, 0]

    assert jax.grad(last)(jnp.zeros(1)).tolist() == [0.0]


def test_windows_in_order_hold_every_step_once():
    x = np.arange(14.0).reshape(2, 7)
    cut = sequences.consecutive_windows({"x": x}, 3)
    kept = np.moveaxis(np.asarray(cut.values["x"]), 0, 1).reshape(2, -1)
    mask = np.moveaxis(np.asarray(cut.mask), 0, 1).reshape(2, -1)
    np.testing.assert_array_equal(kept[mask].reshape(2, 7), x)
    assert cut.fresh.tolist() == [True, False, False]


def test_chunks_are_pieces_of_the_sequences():
    x = np.arange(20.0).reshape(2, 10)
    pieces, places = sequences.random_chunks((x, x[:, :, None]), 4, 8, key=jax.random.key(0))
    for piece, (row, offset) in zip(np.asarray(pieces[0]), np.asarray(places), strict=True):
        np.testing.assert_array_equal(piece, x[row, offset : offset + 4])
    assert pieces[1].shape == (8, 4, 1)


def test_the_carried_state_is_that_of_one_long_pass():
    cell = sequences.Elman(1, 2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (3, 6, 1))
    y = jnp.zeros((3, 6, 2))
    objective = sequences.CarriedWindows(lambda out, target: jnp.sum((out - target) ** 2))
    windows = sequences.consecutive_windows((x, y), 2)
    ran = eqx.filter_jit(
        lambda: training.scan_steps(
            objective, cell, optax.sgd(0.0), windows, state=jnp.zeros((3, 2)), measure=lambda seen: seen.rows.losses
        )
    )()
    states = jax.vmap(lambda row: sequences.run(cell, row).states)(x)
    whole = jnp.sum(states**2, axis=2).reshape(3, 3, 2).swapaxes(0, 1)
    np.testing.assert_allclose(ran.measured, whole, rtol=1e-5)
    np.testing.assert_allclose(ran.state, states[:, -1], rtol=1e-5)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="window=0"):
        sequences.truncated_trajectory(lambda z, x: z, jnp.zeros(1), jnp.ones(3), 0)
    with pytest.raises(ValueError, match="none; give 1"):
        sequences.consecutive_windows(np.ones((2, 3)), 0)
    with pytest.raises(ValueError, match="for sequences of 3 steps"):
        sequences.random_chunks(np.ones((2, 3)), 4, 1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="of one n and T"):
        sequences.consecutive_windows((np.ones((2, 3)), np.ones((2, 4))), 2)
