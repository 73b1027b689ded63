"""Finite chains against fractions, brute force, known spectra and closed forms; and what they refuse."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from scipy.sparse import csr_array

from leadline import chains
from leadline.chains.mixing import asymptotic_variance
from leadline.chains.named_chains import random_chains, rational_mole
from leadline.chains.reversal import is_reversible

KEY = jax.random.key(3)
MOLE = np.array([12, 27, 37]) / 76


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.5], [0.4, 0.5]], "Row 1 of the transition matrix sums to 0.9"),
        ([[1.5, -0.5], [0.0, 1.0]], r"P\[0, 1\] = -0.5 is not a probability"),
        ([[float("nan"), 1.0], [0.0, 1.0]], r"P\[0, 0\] = nan"),
        ([[0.5, 0.5]], "not square"),
        (csr_array(np.array([[0.5, 0.4], [0.0, 1.0]])), "Row 0 of the transition matrix sums to 0.9"),
    ],
)
def test_a_matrix_that_is_no_chain_is_refused_by_its_row(matrix, words):
    with pytest.raises(ValueError, match=words):
        chains.FiniteChain(matrix)


def test_laws_and_names_are_checked():
    mole = chains.mole_chain()
    with pytest.raises(ValueError, match="State 3 is not one of 0 to 2"):
        mole.propagate(3)
    with pytest.raises(ValueError, match="give 3 non-negative numbers with sum 1"):
        mole.propagate([0.5, 0.4, 0.0])
    with pytest.raises(ValueError, match="2 names for 3 states"):
        chains.FiniteChain(mole.matrix, ("a", "b"))


def test_reducible_and_periodic_chains_are_said_with_their_classes():
    blocks = chains.FiniteChain(np.kron(np.eye(2), np.full((2, 2), 0.5)), ("a", "b", "c", "d"))
    for ask in (chains.invariant_law, chains.mixing_time, chains.reverse_chain, chains.fundamental_matrix):
        with pytest.raises(ValueError, match=r"reducible with 2 closed classes, \{a, b\} and \{c, d\}"):
            ask(blocks)
    flip = chains.cycle_chain(3)
    with pytest.raises(ValueError, match=r"period 3: it goes round the classes \{0\}, \{1\} and \{2\}"):
        chains.mixing_time(flip)
    with pytest.raises(ValueError, match="periodic"):
        chains.invariant_law(flip, "power")
    np.testing.assert_allclose(chains.invariant_law(flip), 1 / 3)


def test_transient_states_have_no_mass_no_past_and_infinite_return_times():
    chain = chains.FiniteChain([[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    np.testing.assert_allclose(chains.invariant_law(chain), [0, 0.5, 0.5], atol=1e-15)
    assert chains.return_times(chain).tolist() == [np.inf, 2.0, 2.0]
    with pytest.raises(ValueError, match="State 0 is transient"):
        chains.reverse_chain(chain)
    report = chains.analyse(chain)
    assert not report.irreducible
    assert "transient {0}" in str(report)


def test_a_target_that_may_be_missed_takes_for_ever():
    chain = chains.FiniteChain([[0.4, 0.3, 0.3], [0, 1, 0], [0, 0, 1]])
    assert chains.hitting_times(chain, 1).tolist() == [np.inf, 0.0, np.inf]
    np.testing.assert_allclose(chains.hitting_times(chain, np.array([1, 2]))[0], 1 / 0.6)
    with pytest.raises(ValueError, match="empty"):
        chains.hitting_times(chain, np.zeros(3, bool))


def test_sparse_and_dense_chains_agree():
    dense = chains.random_irreducible_chain(12, density=0.3, key=KEY)
    sparse = chains.FiniteChain(csr_array(dense.matrix))
    for route in ("solve", "eigenvector", "elimination"):
        np.testing.assert_allclose(chains.invariant_law(sparse, route), chains.invariant_law(dense), atol=1e-13)
    np.testing.assert_allclose(chains.hitting_times(sparse, 3), chains.hitting_times(dense, 3))
    np.testing.assert_array_equal(sparse.sample(0, 50, key=KEY), dense.sample(0, 50, key=KEY))
    assert chains.analyse(sparse).mixing == chains.analyse(dense).mixing


def test_elimination_keeps_the_relative_accuracy_of_tiny_entries():
    up, down = np.full(40, 0.01), np.full(40, 0.5)
    law = chains.invariant_law(chains.birth_death_chain(up, down), "elimination")
    exact = 0.02 ** np.arange(41.0)
    np.testing.assert_allclose(law, exact / exact.sum(), rtol=1e-12)


def test_periods_and_classes_agree_with_the_gcd_of_return_times_by_brute_force():
    for chain in random_chains(40, 6, density=0.1, key=KEY):
        powers = [np.linalg.matrix_power((chain.dense > 0).astype(float), t) > 0 for t in range(1, 80)]
        for c in chains.communicating_classes(chain):
            for state in c.states:
                times = [t for t, power in enumerate(powers, 1) if power[state, state]]
                assert c.period == (np.gcd.reduce(times) if times else 0)
            reach = np.any([power[c.states[0]] for power in powers], axis=0)
            assert c.closed == (set(np.flatnonzero(reach)) <= set(c.states))


def test_the_mole_in_fractions_and_in_numbers():
    exact = rational_mole()
    assert exact.invariant_law() == (Fraction(12, 76), Fraction(27, 76), Fraction(37, 76))
    assert exact.return_times() == (Fraction(76, 12), Fraction(76, 27), Fraction(76, 37))
    report = chains.analyse(chains.mole_chain())
    np.testing.assert_allclose(report.laws[0], MOLE, atol=1e-15)
    np.testing.assert_allclose(report.gap, 0.75 - 17**0.5 / 20)
    assert report.reversible is False
    with pytest.raises(ValueError, match="sums to 9/10"):
        chains.RationalChain([["1/2", "2/5"], [0, 1]])
    with pytest.raises(ValueError, match="more than one solution"):
        chains.RationalChain([[1, 0], [0, 1]]).invariant_law()


def test_sampled_moves_have_the_frequencies_of_the_matrix_and_never_a_zero_one():
    mole = chains.mole_chain()
    path = mole.sample(MOLE, 20_000, key=KEY)[0]
    counts = np.zeros((3, 3))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    assert counts[2, 0] == counts[1, 1] == 0
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), mole.matrix, atol=0.03)
    many = mole.sample(0, 3, paths=5000, key=KEY)
    assert many.shape == (5000, 4)
    np.testing.assert_allclose(np.bincount(many[:, 3]) / 5000, mole.propagate(0, 3), atol=0.03)


def test_the_variance_of_a_time_average_is_the_double_sum_of_covariances():
    chain, f = chains.random_irreducible_chain(5, key=KEY), np.arange(5.0)
    law, steps = chains.invariant_law(chain), 7
    centred = f - law @ f
    lag = [law @ (centred * (chain.step_matrix(k) @ centred)) for k in range(steps)]
    direct = sum(lag[abs(s - t)] for s in range(steps) for t in range(steps)) / steps**2
    np.testing.assert_allclose(chains.time_average_variance(chain, f, steps), direct, rtol=1e-10)
    long = 10**6
    np.testing.assert_allclose(
        long * chains.time_average_variance(chain, f, long), asymptotic_variance(chain, f), rtol=1e-4
    )


def test_the_mixing_time_is_the_first_time_below_the_distance():
    chain = chains.lazy_chain(chains.cycle_chain(7))
    far = [chains.total_variation(chain.step_matrix(t), np.full(7, 1 / 7)).max() for t in range(60)]
    for distance in (0.5, 0.25, 0.01):
        assert chains.mixing_time(chain, distance) == next(t for t, d in enumerate(far) if d <= distance)
    with pytest.raises(ValueError, match="distance = 2"):
        chains.mixing_time(chain, 2.0)


def test_metropolis_is_reversible_for_its_target_and_refuses_what_it_cannot_use():
    target = np.array([0.1, 0.2, 0.7])
    even = chains.metropolis_chain(target)
    np.testing.assert_allclose(chains.invariant_law(even), target)
    assert is_reversible(even)
    with pytest.raises(ValueError, match="least entry is 0"):
        chains.metropolis_chain(np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="not symmetric"):
        chains.metropolis_chain(target, chains.mole_chain().matrix)
