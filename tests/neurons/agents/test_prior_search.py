import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.neurons.agents.prior_search import (
    expected_looks,
    geometric_prior,
    learned_prior,
    looks_deviation,
    simulated_looks,
    zipf_prior,
)


def test_expected_looks_are_the_exact_reference_values():
    harmonic = sum(1 / k for k in range(1, 101))
    assert float(expected_looks(zipf_prior(100))) == pytest.approx(100 / harmonic, rel=1e-12)
    assert round(float(expected_looks(zipf_prior(100))), 2) == 19.28
    assert round(float(expected_looks(geometric_prior(100, 0.9))), 2) == 10.00
    assert float(expected_looks(zipf_prior(100), jnp.full(100, 0.01))) == pytest.approx(50.5, rel=1e-12)


def test_no_order_beats_the_true_prior():
    p = np.array([0.1, 0.35, 0.05, 0.3, 0.2])
    costs = [sum((k + 1) * p[i] for k, i in enumerate(order)) for order in itertools.permutations(range(5))]
    assert float(expected_looks(p)) == pytest.approx(min(costs), rel=1e-12)
    assert float(expected_looks(p, p.max() + 0.01 - p)) == pytest.approx(max(costs), rel=1e-12)


def test_ties_are_opened_in_random_order():
    p, q = jnp.array([0.7, 0.2, 0.1]), jnp.array([0.25, 0.5, 0.25])
    assert float(expected_looks(p, q)) == pytest.approx(0.2 * 1 + 0.8 * 2.5, rel=1e-12)
    looks = simulated_looks(p, q, searches=3000, key=jax.random.key(0))
    assert float(looks.mean()) == pytest.approx(2.2, abs=4 * float(looks.std()) / np.sqrt(3000))


def test_a_belief_without_mass_never_finds_the_object():
    p = jnp.array([0.5, 0.5])
    assert np.isinf(expected_looks(p, jnp.array([1.0, 0.0])))
    assert float(expected_looks(jnp.array([1.0, 0.0]), jnp.array([1.0, 0.0]))) == 1.0
    assert float(learned_prior(jnp.array([2, 0]), smoothing=0.0)[1]) == 0.0
    assert float(learned_prior(jnp.array([2, 0]), smoothing=0.5)[1]) == pytest.approx(1 / 6)


def test_bad_probabilities_are_refused():
    with pytest.raises(ValueError, match="sum to 1"):
        expected_looks(jnp.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="same cells"):
        expected_looks(jnp.array([0.5, 0.5]), jnp.ones(3) / 3)


def test_the_deviation_of_looks_is_that_of_all_orders_of_equal_cells():
    truth, belief = np.array([0.5, 0.1, 0.1, 0.3]), np.array([0.2, 0.2, 0.5, 0.1])
    looks = [(rank, truth[c] / 2) for order in ([2, 0, 1, 3], [2, 1, 0, 3]) for rank, c in enumerate(order, start=1)]
    mean = sum(k * p for k, p in looks)
    variance = sum((k - mean) ** 2 * p for k, p in looks)
    assert float(looks_deviation(truth, belief)) == pytest.approx(np.sqrt(variance), rel=1e-12)
