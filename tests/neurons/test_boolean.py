"""Compiled threshold networks against the truth tables they came from."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import neurons
from leadline.neurons.boolean import compiled_share, functions_with_hidden_units


@pytest.mark.parametrize("complement", [True, False])
@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_every_function_of_up_to_three_bits_is_compiled_without_error(dim, complement):
    inputs = np.array(list(itertools.product((0, 1), repeat=dim)), dtype=int).reshape(2**dim, dim)
    for bits in itertools.product((False, True), repeat=2**dim):
        table = np.array(bits)
        network = neurons.compile_truth_table(table, complement=complement)
        assert network(inputs).tolist() == list(bits)
        ones = sum(bits)
        assert len(network.thresholds) == (min(ones, 2**dim - ones) if complement else ones)


@pytest.mark.parametrize("dim", [5, 8, 10])
def test_random_functions_are_compiled_without_error_and_within_half_the_inputs(dim):
    table = np.random.default_rng(dim).random(2**dim) < 0.7
    network = neurons.compile_truth_table(table)
    np.testing.assert_array_equal(neurons.truth_table(network, dim), table)
    assert len(network.thresholds) <= 2 ** (dim - 1)


def test_each_hidden_unit_fires_at_exactly_one_input():
    network = neurons.compile_truth_table(np.random.default_rng(0).random(64) < 0.5)
    assert network.hidden(neurons.binary_inputs(6)).sum(0).tolist() == [1] * len(network.thresholds)


def test_a_network_can_be_jitted():
    network = neurons.compile_truth_table(np.array([False, True, True, False]))
    assert eqx.filter_jit(network)(jnp.asarray(neurons.binary_inputs(2))).tolist() == [False, True, True, False]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_compiled_share_counts_the_units_of_every_function(dim):
    units = [
        len(neurons.compile_truth_table(np.array(bits)).thresholds)
        for bits in itertools.product((False, True), repeat=2**dim)
    ]
    for hidden in range(2 ** (dim - 1) + 1):
        assert compiled_share(dim, hidden) == np.mean(np.array(units) <= hidden)


def test_hidden_units_reach_all_functions_but_parity_needs_one_per_bit():
    assert [functions_with_hidden_units(2, hidden) for hidden in (0, 1, 2, 3)] == [2, 14, 16, 16]
    assert [functions_with_hidden_units(3, hidden) for hidden in (0, 1, 2, 3)] == [2, 104, 254, 256]


def test_two_hidden_units_agree_with_a_random_search_over_real_weights():
    """A search that knows nothing of integer weights: it may miss functions, but must never find more."""
    rng = np.random.default_rng(0)
    x = neurons.binary_inputs(3)
    hidden = np.einsum("rd,shd->srh", x, rng.normal(size=(200_000, 2, 3))) > rng.normal(size=(200_000, 1, 2))
    output = np.einsum("srh,sh->sr", hidden, rng.normal(size=(200_000, 2))) > rng.normal(size=(200_000, 1))
    found = len(np.unique(output @ (1 << np.arange(8))))
    assert 200 < found <= functions_with_hidden_units(3, 2)


def test_bad_tables_and_searches_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="2\\^d rows"):
        neurons.compile_truth_table(np.ones(3, bool))
    with pytest.raises(ValueError, match="exhaustive"):
        functions_with_hidden_units(4, 2)
    with pytest.raises(ValueError, match="2 inputs but x has shape"):
        neurons.compile_truth_table(np.ones(4, bool))(np.ones((1, 3), int))
