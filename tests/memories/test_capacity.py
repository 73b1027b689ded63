import math

import jax
import numpy as np
import pytest
from scipy.special import erf, erfinv

from leadline import memories
from leadline.memories.capacity import (
    expected_unstable_bits,
    logarithmic_capacity,
    perfect_storage,
    perfect_storage_limit,
    retrieved_overlaps,
)
from leadline.memories.crosstalk import bit_flip_probability


@pytest.mark.parametrize("load", [0.001, 0.01, 0.05, 0.1, 0.12, 0.13, 0.137])
def test_the_overlap_solves_the_mean_field_equations(load):
    # Amit, Gutfreund and Sompolinsky's own three equations at zero temperature: m, C and r, a different form.
    m = memories.mean_field_overlap(load)
    if m == 1.0:  # rounding: 1 - m is below 1e-16 at loads under 0.015
        assert load < 0.02
        return
    y = erfinv(m)
    r = (m / y) ** 2 / (2 * load)  # from y = m / sqrt(2 alpha r)
    c = math.sqrt(2 / (math.pi * load * r)) * math.exp(-(m**2) / (2 * load * r))
    assert r == pytest.approx(1 / (1 - c) ** 2, rel=2e-3)
    assert m == pytest.approx(math.erf(m / math.sqrt(2 * load * r)), abs=1e-12)


def test_the_overlap_is_the_largest_root():
    for load in (0.05, 0.1, 0.13):
        ys = np.linspace(1e-3, 8, 400_001)
        residual = ys * (np.sqrt(2 * load) + 2 / np.sqrt(np.pi) * np.exp(-(ys**2))) - erf(ys)
        crossings = np.flatnonzero(np.diff(np.sign(residual)))
        assert memories.mean_field_overlap(load) == pytest.approx(erf(ys[crossings[-1]]), abs=1e-5)


def test_no_root_is_left_above_the_critical_load_only():
    point = memories.critical_load()
    assert point.load == pytest.approx(0.137906, abs=5e-7)
    assert point.overlap == pytest.approx(0.9674, abs=5e-5)
    assert memories.mean_field_overlap(point.load + 1e-6) == 0
    assert memories.mean_field_overlap(point.load - 1e-9) == pytest.approx(point.overlap, abs=1e-3)


def test_the_overlaps_of_the_reference_are_reproduced():
    found = [memories.mean_field_overlap(load) for load in (0.10, 0.12, 0.13)]
    np.testing.assert_allclose(found, [0.998, 0.993, 0.987], atol=5e-4)


def test_retrieved_overlaps_are_those_of_plain_runs_on_average():
    final = np.asarray(retrieved_overlaps((6, 15), 60, sets=20, cues=6, key=jax.random.key(0)))
    rng = np.random.default_rng(0)
    for row, n in zip(final, (6, 15), strict=True):
        plain = []
        for _ in range(20):
            x = rng.choice([-1, 1], size=(n, 60))
            weights, state = x.T @ x - n * np.eye(60, dtype=int), x[0].copy()
            for _ in range(100):
                before = state.copy()
                for i in range(60):
                    state[i] = 1 if weights[i] @ state >= 0 else -1
                if (state == before).all():
                    break
            plain.append(state @ x[0] / 60)
        first = row[:, 0]  # one cue of each set: independent runs
        error = np.sqrt((np.var(plain, ddof=1) + np.var(first, ddof=1)) / 20)
        assert abs(first.mean() - np.mean(plain)) < 5 * error + 1e-3


def test_the_storage_limits_of_the_reference_are_reproduced():
    limits = {d: [perfect_storage_limit(d, patterns=p) for p in ("one", "all")] for d in (100, 500, 1000, 4000)}
    assert limits == {100: [10, 7], 500: [37, 25], 1000: [67, 45], 4000: [226, 147]}


def test_the_limit_is_where_the_probability_crosses():
    for patterns in ("one", "all"):
        n = perfect_storage_limit(300, patterns=patterns, probability=0.8)
        values = [perfect_storage(n + step, 300, patterns=patterns) for step in (0, 1)]
        bits = [300 * (1 if patterns == "one" else n + step) for step in (0, 1)]
        direct = [(1 - bit_flip_probability(n + s, 300)) ** b for s, b in zip((0, 1), bits, strict=True)]
        np.testing.assert_allclose(values, direct, rtol=1e-10)
        assert values[0] >= 0.8 > values[1]


def test_two_neurons_hold_few_patterns():
    assert 1 <= perfect_storage_limit(2) <= 2


def test_expected_unstable_bits_vanish_below_the_logarithmic_capacity_and_grow_above():
    d = np.array([1e4, 1e8, 1e16])
    for patterns, divisor in (("one", 2), ("all", 4)):
        below = expected_unstable_bits(0.7 * d / (divisor * np.log(d)), d, patterns=patterns)
        above = expected_unstable_bits(1.5 * d / (divisor * np.log(d)), d, patterns=patterns)
        assert (np.diff(below) < 0).all()
        assert (np.diff(above) > 0).all()
    assert logarithmic_capacity(1000.0) == pytest.approx(1000 / (2 * math.log(1000)))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="1 to 5 of them"):
        retrieved_overlaps((5, 9), 20, sets=1, cues=6, key=jax.random.key(0))
    with pytest.raises(ValueError, match="too large"):
        retrieved_overlaps((5000,), 5000, sets=1, cues=1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="positive"):
        memories.mean_field_overlap(0.0)
    with pytest.raises(ValueError, match='"one" pattern or of "all"'):
        perfect_storage(5, 100, patterns="some")
    with pytest.raises(ValueError, match="between 0 and 1"):
        perfect_storage_limit(100, probability=1.0)
