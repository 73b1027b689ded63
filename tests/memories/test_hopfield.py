import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import memories
from leadline.memories.hopfield import sgn


def random_network(d, seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(d, d))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    return weights, rng.normal(size=d), rng.choice([-1.0, 1.0], size=(3, d))


def energy_by_loops(weights, bias, state):
    total = 0.0
    for i, j in itertools.product(range(len(state)), repeat=2):
        total -= 0.5 * weights[i, j] * state[i] * state[j]
    return total + sum(b * x for b, x in zip(bias, state, strict=True))


@given(d=st.sampled_from([1, 7]), seed=st.integers(0, 1000))  # few shapes: each compiles
@settings(max_examples=15, deadline=None)
def test_energy_and_fields_agree_with_loops(d, seed):
    weights, bias, states = random_network(d, seed)
    network = memories.HopfieldNetwork(weights, bias)
    np.testing.assert_allclose(network.energy(states), [energy_by_loops(weights, bias, x) for x in states], atol=1e-12)
    fields = [[sum(weights[i, j] * x[j] for j in range(d)) - bias[i] for i in range(d)] for x in states]
    np.testing.assert_allclose(network.fields(states), fields, atol=1e-12)


def test_energy_is_the_same_for_a_state_and_its_negative_without_bias():
    weights, _, states = random_network(9, 3)
    network = memories.HopfieldNetwork(weights)
    np.testing.assert_array_equal(network.energy(states), network.energy(-states))


def test_the_factored_network_is_the_dense_one():
    rng = np.random.default_rng(0)
    factor, removed, bias = rng.normal(size=(3, 7)), rng.normal(size=7), rng.normal(size=7)
    states = rng.choice([-1.0, 1.0], size=(4, 7))
    network = memories.FactoredHopfield(
        jnp.asarray(factor), unit=0.3, removed=jnp.asarray(removed), bias=jnp.asarray(bias)
    )
    weights = 0.3 * (np.einsum("ti,tj->ij", factor, factor) - np.diag(removed))
    np.testing.assert_allclose(network.weights, weights, atol=1e-12)
    np.testing.assert_allclose(network.fields(states), states @ weights - bias, atol=1e-12)
    np.testing.assert_allclose(network.energy(states), [energy_by_loops(weights, bias, x) for x in states], atol=1e-12)


def test_overlap_counts_agreeing_bits():
    patterns = np.array([[1, 1, 1, 1], [1, -1, 1, -1]])
    assert memories.overlaps(patterns, np.array([1, 1, 1, -1])).tolist() == [0.5, 0.5]
    assert memories.overlaps(patterns, -patterns).tolist() == [[-1, 0], [0, -1]]


def test_sign_of_zero_is_plus_one():
    assert sgn(jnp.array([-2.0, 0.0, -0.0, 3.0])).tolist() == [-1, 1, 1, 1]


def test_integer_weights_make_a_network():
    network = memories.HopfieldNetwork(np.array([[0, 1], [1, 0]]))
    assert jnp.issubdtype(network.weights.dtype, jnp.floating)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0.0, 1.0], [0.5, 0.0]], r"symmetric, but w\[0,1\] = 1 and w\[1,0\] = 0.5"),
        ([[0.0, 1.0], [1.0, 2.0]], r"zero diagonal, but w\[1,1\] = 2"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN"),
    ],
)
def test_bad_weights_are_refused_in_one_sentence(weights, message):
    with pytest.raises(ValueError, match=message) as error:
        memories.HopfieldNetwork(np.array(weights))
    assert "\n" not in str(error.value)


def test_a_bias_with_infinities_is_refused():
    with pytest.raises(ValueError, match="bias"):
        memories.HopfieldNetwork(np.zeros((2, 2)), np.array([0.0, np.inf]))


def test_rounding_asymmetry_is_accepted():
    weights = np.array([[0.0, 0.3], [0.3 + 1e-16, 0.0]])
    memories.HopfieldNetwork(weights)


def test_a_network_can_be_built_and_used_inside_a_compiled_function():
    @jax.jit
    def total(weights, state):
        return memories.HopfieldNetwork(weights).energy(state)

    assert total(jnp.array([[0.0, 2.0], [2.0, 0.0]]), jnp.array([1.0, 1.0])) == -2
