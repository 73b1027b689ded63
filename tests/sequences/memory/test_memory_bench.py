import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences


def scaled(weight):
    cell = sequences.Elman(1, 1, "identity", bias=False, dtype=jnp.float32, key=jax.random.key(0))
    parts = (jnp.full((1, 1), weight, jnp.float32), jnp.ones((1, 1), jnp.float32))
    return eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight), cell, parts)


def test_all_curves_of_a_linear_unit_are_powers_of_its_weight():
    x = jax.random.normal(jax.random.key(0), (3, 20, 1))
    report = sequences.memory_bench(scaled(0.8), x)
    np.testing.assert_allclose(report.gradient - report.gradient[0], np.log(0.8) * np.arange(21), atol=1e-4)
    np.testing.assert_allclose(report.influence, np.log(0.8) * np.arange(20), atol=1e-4)
    assert report.exponents[0] == pytest.approx(np.log(0.8), abs=1e-5)
    assert report.gradient_horizon == report.influence_horizon == 4
    assert report.decay == pytest.approx(np.log(0.8), abs=1e-4)
    assert report.overflow is None


def test_a_network_that_overflows_is_measured_up_to_the_step_before_which_is_named():
    x = jnp.ones((2, 200, 1), jnp.float32)
    report = sequences.memory_bench(scaled(2.0), x)
    assert report.overflow == 128
    assert len(report.influence) == 127
    assert report.exponents[0] == pytest.approx(np.log(2), abs=1e-4)
    with pytest.raises(ValueError, match="no longer finite at step 2"):
        sequences.memory_bench(scaled(1e30), 1e20 * x)


@pytest.mark.parametrize("make", [sequences.LSTM, sequences.MinGRU, sequences.LRU, sequences.LightGRU])
def test_every_cell_has_a_report(make):
    report = sequences.memory_bench(make(2, 4, key=jax.random.key(0)), jax.random.normal(jax.random.key(1), (2, 6, 2)))
    assert np.all(np.isfinite(report.gradient[1:]))
    assert np.all(np.isfinite(report.exponents))


def test_tokens_have_no_influence_by_derivatives():
    cell = sequences.GRU(3, 4, key=jax.random.key(0))
    words = sequences.SequenceNetwork(cell, 5, vocabulary=5, key=jax.random.key(1))
    assert sequences.memory_bench(words, jnp.ones((2, 6), int)).influence is None


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="2 steps or more"):
        sequences.memory_bench(scaled(0.5), jnp.ones((3, 1)))
    with pytest.raises(ValueError, match="or neither"):
        sequences.memory_bench(scaled(0.5), jnp.ones((3, 4, 1)), jnp.ones(3))
