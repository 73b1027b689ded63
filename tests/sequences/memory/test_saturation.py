import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences


def test_shares_slopes_and_stuck_units_are_counted():
    values = np.array([[[0.5, 0.99, 0.01], [0.98, 0.99, 0.5]], [[0.5, 0.99, 0.5], [0.5, 0.99, 0.5]]])
    found = sequences.saturation(values, "logistic")
    np.testing.assert_allclose(found.share, [3 / 6, 3 / 6])
    assert (found.low, found.high) == (1 / 12, 5 / 12)
    assert found.stuck.tolist() == [False, True, False]
    assert found.dead.tolist() == [False, True, False]
    np.testing.assert_allclose(found.slope, (values * (1 - values)).mean(axis=(0, 2)))


def test_the_units_of_a_gru_are_its_gates():
    cell = sequences.GRU(2, 3, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (2, 4, 2))
    units = {unit.name: unit.values for unit in sequences.unit_values(cell.update, cell.init(), x)}
    before = jnp.concatenate([cell.init()[None], sequences.run(cell, x[0]).states[:-1]])
    gates = jax.vmap(lambda z, x: cell.gates(z, cell.project(x)))(before, x[0])
    np.testing.assert_allclose(units["logistic 1"][0], gates.reset, rtol=1e-5)
    np.testing.assert_allclose(units["logistic 2"][0], gates.update, rtol=1e-5)
    np.testing.assert_allclose(units["tanh 1"][0], gates.candidate, rtol=1e-5)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="choose tanh or logistic"):
        sequences.saturation(np.zeros((1, 1, 1)), "relu")
    with pytest.raises(ValueError, match="rows, time, units"):
        sequences.saturation(np.zeros((1, 1)), "tanh")
