"""Dense memories against their definitions, written out in exact Python arithmetic."""

from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import memories
from leadline.memories import Power
from leadline.memories.dense import Exponential, dense_bit_error, dense_capacity

ENERGIES = [Exponential(), Power(2), Power(3), Power(5, rectified=True), Power(2, rectified=True)]


def interaction(energy, z):
    """F(z) as an exact integer, or to 28 digits."""
    match energy:
        case Exponential():
            return Decimal(z).exp()
        case Power(k, rectified):
            return max(z, 0) ** k if rectified else z**k


def direct_field(energy, patterns, state, i):
    total = 0
    for pattern in patterns:
        u = sum(int(pattern[j]) * int(state[j]) for j in range(len(state)) if j != i)
        total += interaction(energy, int(pattern[i]) + u) - interaction(energy, -int(pattern[i]) + u)
    return total


def direct_run(energy, patterns, state):
    state, changed = np.array(state), True
    while changed:
        changed = False
        for i in range(len(state)):
            new = 1 if direct_field(energy, patterns, state, i) >= 0 else -1
            changed, state[i] = changed or new != state[i], new
    return state


def signs(rng, *shape):
    return rng.choice([-1.0, 1.0], size=shape)


@pytest.mark.parametrize("energy", ENERGIES, ids=str)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_retrieval_follows_the_definition_neuron_by_neuron(energy, seed):
    rng = np.random.default_rng(seed)
    patterns, cues = signs(rng, 5, 8), signs(rng, 3, 8)  # odd n: the exponential field cannot vanish
    found = memories.dense_retrieve(patterns, cues, energy=energy)
    np.testing.assert_array_equal(found, [direct_run(energy, patterns, cue) for cue in cues])


@pytest.mark.parametrize("energy", ENERGIES, ids=str)
def test_fields_have_the_sign_of_the_definition_and_vanish_with_it(energy):
    rng = np.random.default_rng(3)
    patterns, states = signs(rng, 4, 7), signs(rng, 20, 7)
    direct = [[np.sign(float(direct_field(energy, patterns, state, i))) for i in range(7)] for state in states]
    np.testing.assert_array_equal(jnp.sign(memories.dense_fields(patterns, states, energy=energy)), direct)


@pytest.mark.parametrize("energy", ENERGIES, ids=str)
def test_no_visit_raises_the_energy_and_the_path_ends_where_retrieval_does(energy):
    rng = np.random.default_rng(4)
    patterns, cue = signs(rng, 30, 40), signs(rng, 40)
    path = memories.dense_path(patterns, cue, energy=energy, sweeps=12)
    assert jnp.all(jnp.abs(jnp.diff(path, axis=0)).sum(1) <= 2)
    assert jnp.all(jnp.diff(memories.dense_energy(patterns, path, energy=energy)) <= 1e-12)
    np.testing.assert_array_equal(path[-1], memories.dense_retrieve(patterns, cue[None], energy=energy)[0])


@pytest.mark.parametrize("energy", [Power(3), Power(4, rectified=True)], ids=str)
def test_energy_of_powers_is_the_definition_in_units_of_d_to_the_k(energy):
    rng = np.random.default_rng(5)
    patterns, states = signs(rng, 6, 9), signs(rng, 4, 9)
    direct = [-sum(interaction(energy, int(p @ s)) for p in patterns) / 9**energy.k for s in states]
    np.testing.assert_allclose(memories.dense_energy(patterns, states, energy=energy), direct, rtol=1e-12)


def test_energy_of_the_exponential_is_minus_the_logarithm_of_the_sum():
    rng = np.random.default_rng(6)
    patterns, states = signs(rng, 6, 9), signs(rng, 4, 9)
    np.testing.assert_allclose(
        memories.dense_energy(patterns, states), -np.log(np.exp(states @ patterns.T).sum(1)), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [6, 138])
def test_the_square_reproduces_the_zero_diagonal_hebbian_network_in_integers(n, dtype):
    """Even n makes ties frequent: they must go to +1 in single precision too."""
    rng = np.random.default_rng(n)
    patterns = signs(rng, n, 200)
    cues = patterns[:5] * np.where(rng.random((5, 200)) < 0.2, -1, 1)
    w = patterns.astype(int).T @ patterns.astype(int)
    np.fill_diagonal(w, 0)
    expected = cues.astype(int)
    for state in expected:
        changed = True
        while changed:
            changed = False
            for i in range(200):
                new = 1 if w[i] @ state >= 0 else -1
                changed, state[i] = changed or new != state[i], new
    found = memories.dense_retrieve(patterns.astype(dtype), cues.astype(dtype), energy=Power(2))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("energy", [Exponential(), Power(40), Power(20, rectified=True)], ids=str)
def test_ten_thousand_neurons_in_single_precision_neither_overflow_nor_forget(energy):
    patterns = jax.random.rademacher(jax.random.key(0), (8, 10_000), jnp.float32)
    flips = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.4, (2, 10_000)), -1.0, 1.0).astype(jnp.float32)
    cues = patterns[:2] * flips
    assert jnp.all(jnp.isfinite(memories.dense_energy(patterns, cues, energy=energy)))
    np.testing.assert_array_equal(memories.dense_retrieve(patterns, cues, energy=energy), patterns[:2])


def test_the_number_of_sweeps_is_respected():
    patterns, cue = jnp.ones((1, 4)), -jnp.ones((1, 4))
    np.testing.assert_array_equal(memories.dense_retrieve(patterns, cue, sweeps=0), cue)


def test_predictions_have_the_values_of_the_curriculum():
    errors = [dense_bit_error(patterns, 100, 3) for patterns in (723, 1447, 2895)]
    np.testing.assert_allclose(errors, [0.0159, 0.0645, 0.1416], atol=5e-5)
    np.testing.assert_allclose(dense_capacity(1000, 2), 1000 / (2 * np.log(1000)))


def test_bad_input_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="at least 2"):
        Power(1)
    with pytest.raises(ValueError, match=r"patterns must consist of -1 and \+1"):
        memories.dense_retrieve(np.zeros((2, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"states must consist of -1 and \+1"):
        memories.dense_fields(np.ones((2, 3)), np.full((1, 3), np.nan))
    with pytest.raises((ValueError, TypeError)):  # the shape annotations object first when they are checked
        memories.dense_retrieve(np.ones((2, 3)), np.ones((1, 4)))
    with pytest.raises((ValueError, TypeError)):
        memories.dense_path(np.ones((2, 3)), np.ones((1, 3)))
