import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from leadline import data, memories
from leadline.memories.storage import remove_pattern


def patterns_of(n, d, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, d))


def test_hebbian_weights_agree_with_loops():
    patterns = patterns_of(4, 6)
    weights = memories.hebbian(patterns)
    for i in range(6):
        for j in range(6):
            expected = 0 if i == j else sum(x[i] * x[j] for x in patterns) / 6
            assert weights[i, j] == pytest.approx(expected, abs=1e-14)


def test_the_raw_hebbian_diagonal_is_patterns_per_neuron():
    np.testing.assert_allclose(np.diag(memories.hebbian(patterns_of(7, 10), self_coupling=True)), 0.7)
    np.testing.assert_allclose(np.diag(memories.hebbian_network(patterns_of(7, 10), self_coupling=True).weights), 0.7)


@given(n=st.sampled_from([1, 6]), seed=st.integers(0, 1000))  # few shapes: each compiles
@settings(max_examples=12, deadline=None)
def test_adding_patterns_in_any_order_gives_hebbs_rule_and_removing_them_nothing(n, seed):
    patterns = patterns_of(n, 9, seed)
    weights = jnp.zeros((9, 9))
    for x in np.random.default_rng(seed).permutation(patterns):
        weights = memories.add_pattern(weights, x)
    np.testing.assert_allclose(weights, memories.hebbian(patterns), atol=1e-14)
    np.testing.assert_allclose(memories.hebbian_network(patterns).weights, memories.hebbian(patterns), atol=1e-14)
    for x in patterns:
        weights = remove_pattern(weights, x)
    np.testing.assert_allclose(weights, 0, atol=1e-14)


def test_empty_slots_change_nothing():
    patterns = patterns_of(3, 12)
    padded = memories.hebbian_network(patterns, slots=5)
    assert padded.factor.shape == (5, 12)
    np.testing.assert_array_equal(padded.weights, memories.hebbian_network(patterns).weights)
    with pytest.raises(ValueError, match="3 patterns do not fit into 2 slots"):
        memories.hebbian_network(patterns, slots=2)


def test_orthogonal_patterns_are_all_fixed_points_of_hebbs_rule():
    patterns = scipy.linalg.hadamard(16).astype(float)[:15]
    fields = patterns @ memories.hebbian(patterns)
    np.testing.assert_array_equal(np.where(fields >= 0, 1, -1), patterns)


@pytest.mark.parametrize(("n", "d"), [(1, 5), (10, 40), (39, 40)])
def test_projection_weights_are_those_of_the_pseudo_inverse(n, d):
    patterns = patterns_of(n, d, 2)
    expected = scipy.linalg.pinv(patterns) @ patterns
    weights = memories.projection(patterns, self_coupling=True)
    np.testing.assert_allclose(weights, expected, atol=1e-10)
    np.testing.assert_allclose(
        memories.projection_network(patterns).weights, expected - np.diag(np.diag(expected)), atol=1e-10
    )
    np.testing.assert_allclose(memories.projection(patterns), expected - np.diag(np.diag(expected)), atol=1e-10)


def test_projection_weights_can_make_a_checked_network():
    network = memories.HopfieldNetwork(memories.projection(data.digit_bitmaps()))
    assert memories.measure_stability(network, data.digit_bitmaps()).fixed.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_keeps_the_dtype(dtype):
    patterns = patterns_of(3, 20).astype(dtype)
    for made in (memories.hebbian(patterns), memories.projection(patterns), memories.hebbian_network(patterns).factor):
        assert made.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dependent_patterns_are_refused_by_the_projection_rule(dtype):
    patterns = patterns_of(5, 200).astype(dtype)
    memories.projection(patterns)
    for dependent in (np.vstack([patterns, -patterns[2]]), patterns_of(12, 10).astype(dtype)):
        with pytest.raises(ValueError, match="linearly independent"):
            memories.projection(dependent)


def test_patterns_of_bits_are_refused():
    bits = np.array([[0.0, 1.0, 1.0]])
    for rule in (memories.hebbian, memories.projection, memories.hebbian_network, memories.projection_network):
        with pytest.raises(ValueError, match="only -1 and"):
            rule(bits)
    with pytest.raises(ValueError, match="only -1 and"):
        memories.add_pattern(jnp.zeros((3, 3)), bits[0])


def test_storage_works_inside_a_compiled_function():
    patterns = jnp.asarray(patterns_of(3, 8))
    np.testing.assert_allclose(jax.jit(memories.projection)(patterns), memories.projection(patterns), atol=1e-12)
