"""Paired tests against SciPy and brute force, Holm's correction against its definition."""

from itertools import product

import jax
import numpy as np
import pytest
from scipy import stats

from leadline.regularisation import compare_with_baseline, holm, mcnemar, paired_difference

RNG = np.random.default_rng(3)
KEY = jax.random.key(1)


def flip_p_value(d):
    """The two-sided sign-flip p-value by all 2ⁿ flips."""
    means = np.array([np.mean(d * signs) for signs in product((1, -1), repeat=len(d))])
    slack = 1e-12
    return min(1.0, 2 * min((means >= d.mean() - slack).mean(), (means <= d.mean() + slack).mean()))


def test_mcnemar_is_the_binomial_test_of_the_items_that_differ():
    a, b = RNG.random(60) < 0.8, RNG.random(60) < 0.6
    found = mcnemar(a, b)
    assert found.p_value == pytest.approx(
        stats.binomtest(found.only_first, found.only_first + found.only_second).pvalue
    )
    assert found.difference == pytest.approx((~a).mean() - (~b).mean())
    assert mcnemar(a, a).p_value == 1.0
    with pytest.raises(ValueError, match="truth values"):
        mcnemar(a.astype(int), b.astype(int))


def test_the_t_interval_is_that_of_scipy():
    a, b = RNG.normal(size=9), RNG.normal(size=9)
    found, other = paired_difference(a, b, level=0.9), stats.ttest_rel(a, b)
    assert found.p_value == pytest.approx(other.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(other.confidence_interval(0.9)))


@pytest.mark.parametrize("n", [3, 7, 10])
def test_sign_flip_takes_every_flip(n):
    a, b = RNG.normal(size=n) + 0.5, RNG.normal(size=n)
    found = paired_difference(a, b, "sign-flip")
    assert found.p_value == pytest.approx(flip_p_value(a - b))
    other = stats.permutation_test((a - b,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert found.p_value == pytest.approx(other.pvalue)


def test_the_sign_flip_interval_is_what_the_test_does_not_reject():
    d = RNG.normal(size=9) + 0.3
    found = paired_difference(d, np.zeros(9), "sign-flip", level=0.9)
    for shift, kept in [
        (found.low + 1e-9, True),
        (found.low - 1e-9, False),
        (found.high - 1e-9, True),
        (found.high + 1e-9, False),
    ]:
        assert (flip_p_value(d - shift) > 0.1) == kept
    assert paired_difference(d[:5], np.zeros(5), "sign-flip").high == np.inf


def test_random_flips_come_near_all_flips_and_near_scipy():
    d = RNG.normal(size=40) + 0.3
    found = paired_difference(d, np.zeros(40), "sign-flip", key=KEY)
    other = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=9999, rng=0)
    assert found.p_value == pytest.approx(other.pvalue, abs=0.02)
    student = paired_difference(d, np.zeros(40))
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=0.03)


def test_the_bootstrap_comes_near_the_t_interval():
    d = RNG.normal(size=200) + 0.1
    found, student = paired_difference(d, np.zeros(200), "bootstrap", key=KEY), paired_difference(d, np.zeros(200))
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=0.02)
    assert found.p_value == pytest.approx(student.p_value, abs=0.02)
    assert found.settled == (found.low > 0 or found.high < 0)


@pytest.mark.parametrize("method", ["t", "bootstrap", "sign-flip"])
def test_equal_models_differ_by_nothing(method):
    same = np.linspace(0, 1, 20)
    found = paired_difference(same, same, method, key=KEY)
    assert (found.mean, found.p_value, found.settled) == (0.0, 1.0, False)


def test_holm_rejects_as_the_step_down_procedure_does():
    for _ in range(50):
        p, level = RNG.random(6) ** 3, 0.05
        adjusted, alive = holm(p), True
        for step, k in enumerate(np.argsort(p)):
            alive = alive and p[k] <= level / (6 - step)
            assert (adjusted[k] <= level) == alive


def test_many_models_are_compared_with_the_baseline_and_corrected():
    scores = {"none": RNG.normal(size=8), "a": RNG.normal(size=8), "b": RNG.normal(size=8) - 3}
    found = compare_with_baseline(scores, "none")
    alone = [paired_difference(scores[name], scores["none"]) for name in ("a", "b")]
    assert [found[name].difference for name in ("a", "b")] == alone
    np.testing.assert_allclose([found["a"].adjusted, found["b"].adjusted], holm(np.array([a.p_value for a in alone])))
    with pytest.raises(ValueError, match="baseline 'nothing'"):
        compare_with_baseline(scores, "nothing")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_difference(np.ones(3), np.ones(4)), "same number of rows"),
        (lambda: paired_difference(np.ones(1), np.ones(1)), "at least 2 pairs"),
        (lambda: paired_difference(np.array([1.0, np.nan]), np.ones(2)), "NaN"),
        (lambda: paired_difference(np.array([1.0, np.inf]), np.ones(2)), "a pair, number 1, whose difference"),
        (lambda: paired_difference(np.ones(3), np.ones(3), "bootstrap"), "give key"),
        (lambda: paired_difference(np.ones(3), np.ones(3), "wilcoxon"), "choose 't'"),
        (lambda: holm(np.array([0.1, 1.2])), "from 0 to 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
