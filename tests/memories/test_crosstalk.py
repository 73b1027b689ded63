import math
from fractions import Fraction

import jax
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st
from scipy import stats

from leadline import memories
from leadline.memories.crosstalk import bit_flip_gaussian, bit_flip_probability, crosstalk_law, crosstalk_sums


@given(shape=st.sampled_from([(1, 4), (2, 1), (6, 7)]), seed=st.integers(0, 1000))  # few shapes: each compiles
@settings(max_examples=15, deadline=None)
def test_crosstalk_sums_agree_with_the_double_sum(shape, seed):
    n, d = shape
    x = np.random.default_rng(seed).choice([-1, 1], size=(n, d))
    expected = [
        [sum(x[r, i] * x[r, j] * x[t, j] for r in range(n) for j in range(d) if r != t and j != i) for i in range(d)]
        for t in range(n)
    ]
    np.testing.assert_array_equal(crosstalk_sums(x), expected)


def test_orthogonal_patterns_leave_only_the_missing_diagonal():
    x = scipy.linalg.hadamard(8)[:5]
    np.testing.assert_array_equal(crosstalk_sums(x), -4 * x)


def flip_by_counting(n, d, threshold):
    """P(S < -T) + P(S = -T)/2 for a sum of N fair signs, in exact fractions."""
    products = (n - 1) * (d - 1)
    total = Fraction(0)
    for b in range(products + 1):
        s = 2 * b - products
        if s <= -threshold:
            total += Fraction(math.comb(products, b), 2**products) * (Fraction(1, 2) if s == -threshold else 1)
    return float(total)


@pytest.mark.parametrize(("n", "d"), [(1, 5), (2, 2), (2, 9), (3, 8), (6, 5), (7, 6), (40, 21), (12, 100)])
def test_bit_flip_probability_is_the_exact_tail(n, d):
    assert bit_flip_probability(n, d) == pytest.approx(flip_by_counting(n, d, d - 1), rel=1e-10, abs=1e-300)
    kept = bit_flip_probability(n, d, self_coupling=True)
    assert kept == pytest.approx(flip_by_counting(n, d, d + n - 1), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("self_coupling", [False, True])
def test_bit_flip_probability_is_the_share_over_all_pattern_sets(self_coupling):
    n, d = 3, 4
    flips = total = 0
    for code in range(2 ** (n * d)):
        x = np.array([1 - 2 * (code >> b & 1) for b in range(n * d)]).reshape(n, d)
        weights = x.T @ x
        field = weights[0] @ x[0] - (0 if self_coupling else weights[0, 0] * x[0, 0])
        flips += (1 if field >= 0 else -1) != x[0, 0]
        total += 1
    assert bit_flip_probability(n, d, self_coupling=self_coupling) == pytest.approx(flips / total, rel=1e-12)


def test_bit_flip_probability_reproduces_the_reference_values():
    found = bit_flip_probability(np.array([138, 100, 100]), np.array([1000, 500, 200]))
    np.testing.assert_allclose(found, [0.003463, 0.01238, 0.0781], rtol=5e-4)


def test_the_normal_form_converges_to_the_exact_one():
    for self_coupling in (False, True):
        exact = bit_flip_probability(2000, 20000, self_coupling=self_coupling)
        normal = bit_flip_gaussian(2000, 20000, self_coupling=self_coupling)
        assert normal == pytest.approx(exact, rel=1e-4)
    assert bit_flip_gaussian(20001, 200001) == pytest.approx(memories.bit_flip_limit(0.1), rel=1e-3)
    assert memories.bit_flip_limit(0.5) == pytest.approx(0.5 * math.erfc(1.0), rel=1e-12)


def test_the_law_of_one_bit_has_the_moments_of_the_sum():
    law = crosstalk_law(4, 11)
    assert (2 * law.mean() - 30, 4 * law.var()) == (0, 30)
    assert law.pmf(15) == pytest.approx(math.comb(30, 15) / 2**30)
    assert isinstance(law.dist, type(stats.binom))


@pytest.mark.parametrize("self_coupling", [False, True])
def test_sampled_unstable_bits_follow_the_exact_law(self_coupling):
    counts = memories.sample_unstable_bits(40, 60, sets=300, key=jax.random.key(0), self_coupling=self_coupling)
    rates = np.asarray(counts).mean(axis=1) / 60
    error = rates.std(ddof=1) / np.sqrt(300)
    assert abs(rates.mean() - flip_by_counting(40, 60, 99 if self_coupling else 59)) < 4 * error
    assert counts.shape == (300, 40)
    assert memories.sample_unstable_bits(5, 8, sets=2, key=jax.random.key(0), observed=3).shape == (2, 3)


def test_empty_slots_leave_the_law_of_unstable_bits_alone():
    counts = memories.sample_unstable_bits(40, 60, sets=300, key=jax.random.key(1), slots=64)
    rates = counts.mean(axis=1) / 60
    assert counts.shape == (300, 40)
    assert abs(rates.mean() - flip_by_counting(40, 60, 59)) < 4 * rates.std(ddof=1) / np.sqrt(300)
    with pytest.raises(ValueError, match="do not fit into 30 slots"):
        memories.sample_unstable_bits(40, 60, sets=1, key=jax.random.key(0), slots=30)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="too large"):
        memories.sample_unstable_bits(5000, 5000, sets=1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="n >= 1"):
        bit_flip_probability(0, 10)
    with pytest.raises(ValueError, match="d >= 2"):
        bit_flip_probability(3, 1)
    with pytest.raises(ValueError, match="only -1 and"):
        crosstalk_sums(np.zeros((2, 3)))
