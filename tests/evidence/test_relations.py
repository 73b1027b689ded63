"""Statistical relations against SciPy's own tests and against their own coverage."""

import numpy as np
import pytest
import scipy.stats

from leadline.evidence import Verdict, counts_as, distributed_as, frequency, mean, same_distribution, slope, smaller

CONFIDENCE = 0.95


@pytest.mark.parametrize("k", [0, 3, 17, 40])
def test_the_frequency_interval_is_that_of_clopper_and_pearson(k):
    c = frequency(k, 40, 0.3, "rate", confidence=CONFIDENCE)
    expected = scipy.stats.binomtest(k, 40).proportion_ci(CONFIDENCE, method="exact")
    assert c.interval == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (c.verdict is Verdict.HOLDS) == (expected.low <= 0.3 <= expected.high)


def test_a_one_sided_frequency_fails_only_on_its_side():
    assert frequency(0, 100, 0.5, "rate", side="at most").verdict is Verdict.HOLDS
    assert frequency(0, 100, 0.5, "rate", side="at least").verdict is Verdict.FAILS
    assert frequency(100, 100, 0.5, "rate", side="at most").verdict is Verdict.FAILS


def test_confidence_covers_all_elements_together():
    """A true statement about 10 frequencies misses about as often as one about a single frequency, not 10 times."""
    rng = np.random.default_rng(0)
    misses = [
        frequency(rng.binomial(200, 0.3, size=10), 200, 0.3, "rate", confidence=0.9).verdict is Verdict.FAILS
        for _ in range(400)
    ]
    assert scipy.stats.binomtest(sum(misses), 400).proportion_ci(0.999).low <= 0.1


def test_the_interval_of_a_mean_is_students():
    s = np.random.default_rng(1).normal(3, 2, size=30)
    c = mean(s, 3.0, "mean", confidence=CONFIDENCE)
    expected = scipy.stats.ttest_1samp(s, 3.0).confidence_interval(CONFIDENCE)
    assert c.interval == pytest.approx((expected.low, expected.high))
    bound = mean(s, 3.0, "mean", confidence=CONFIDENCE, side="at most")
    expected = scipy.stats.ttest_1samp(s, 3.0, alternative="greater").confidence_interval(CONFIDENCE)
    assert bound.interval == pytest.approx((expected.low, np.inf))


def test_a_known_deviation_gives_the_normal_interval():
    c = mean([0.0, 0.0, 0.0, 0.0], 1.0, "mean", confidence=CONFIDENCE, deviation=2.0)
    half = scipy.stats.norm.ppf(0.975) * 2 / 2
    assert c.interval == pytest.approx((-half, half))
    assert c.verdict is Verdict.HOLDS


def test_a_mean_without_spread_is_compared_to_rounding():
    assert mean([0.1] * 10, 0.1, "mean").verdict is Verdict.HOLDS
    assert mean([0.1] * 10, 0.2, "mean").verdict is Verdict.FAILS


def test_the_slope_and_its_interval_are_those_of_linear_regression():
    rng = np.random.default_rng(2)
    x = np.geomspace(1, 100, 12)
    y = 3 * x**-2.0 * np.exp(rng.normal(0, 0.1, 12))
    c = slope(x, y, -2.0, "rate", confidence=CONFIDENCE)
    fit = scipy.stats.linregress(np.log(x), np.log(y))
    half = fit.stderr * scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, 10)
    assert c.measured == pytest.approx(fit.slope)
    assert c.interval == pytest.approx((fit.slope - half, fit.slope + half))
    assert c.verdict is Verdict.HOLDS
    assert slope(x, y, -1.5, "rate").verdict is Verdict.FAILS
    assert slope(x, y, -1.5, "rate", within=0.6).verdict is Verdict.HOLDS


def test_kolmogorov_accepts_the_true_law_and_rejects_a_shifted_one():
    s = np.random.default_rng(3).normal(size=500)
    assert distributed_as(s, scipy.stats.norm(), "law").verdict is Verdict.HOLDS
    assert distributed_as(s, scipy.stats.norm.cdf, "law").verdict is Verdict.HOLDS
    assert distributed_as(s, scipy.stats.norm(0.5), "law").verdict is Verdict.FAILS
    assert same_distribution(s[:250], s[250:], "law").verdict is Verdict.HOLDS
    assert same_distribution(s, s + 0.5, "law").verdict is Verdict.FAILS


def test_chi_square_agrees_with_scipy_where_no_cell_is_pooled():
    p = np.array([0.2, 0.3, 0.5])
    k = np.array([30, 25, 45])
    assert counts_as(k, p, "law").measured == pytest.approx(scipy.stats.chisquare(k, 100 * p).pvalue)


def test_chi_square_pools_rare_cells_and_keeps_its_level():
    rng = np.random.default_rng(4)
    p = scipy.stats.binom.pmf(np.arange(21), 20, 0.5)
    p = p / p.sum()
    misses = sum(
        counts_as(rng.multinomial(300, p), p, "law", confidence=0.95).verdict is Verdict.FAILS for _ in range(400)
    )
    interval = scipy.stats.binomtest(misses, 400).proportion_ci(0.999)
    assert interval.low <= 0.05 <= interval.high


def test_smaller_holds_only_on_evidence():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 100), rng.normal(2, 1, 100)
    assert smaller(a, b, "steps").verdict is Verdict.HOLDS
    assert smaller(b, a, "steps").verdict is Verdict.FAILS
    assert smaller(a, a, "steps").verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: slope([1, 2], [1, 2], 1, "rate"), "at least 3 points"),
        (lambda: slope([1, 2, 0], [1, 2, 3], 1, "rate"), "x > 0"),
        (lambda: frequency(5, 4, 0.5, "rate"), "successes <= trials"),
        (lambda: mean([1.0], 1, "mean"), "at least 2 samples"),
        (lambda: counts_as([1, 2], [0.5, 0.6], "law"), "sum to 1"),
        (lambda: counts_as([1, 2], [0.5, 0.5], "law"), "draw more samples"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_a_reason(make, match):
    with pytest.raises(ValueError, match=match):
        make()
