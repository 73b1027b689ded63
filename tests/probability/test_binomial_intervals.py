"""Exact binomial intervals against SciPy's and against their definition."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from leadline.probability import binomial_interval

ALTERNATIVE = {"two-sided": "two-sided", "lower": "greater", "upper": "less"}


@pytest.mark.parametrize("side", ALTERNATIVE)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_are_those_of_scipy(side, confidence):
    counts = np.arange(13)
    low, high = binomial_interval(counts, 12, confidence=confidence, side=side)
    for k, a, b in zip(counts, low, high, strict=True):
        known = binomtest(int(k), 12, alternative=ALTERNATIVE[side]).proportion_ci(confidence, method="exact")
        np.testing.assert_allclose([a, b], [known.low, known.high], rtol=1e-9, atol=1e-15)


def test_the_ends_have_the_tails_of_the_definition():
    low, high = binomial_interval(7, 30, confidence=0.9)
    assert binom.sf(6, 30, low) == pytest.approx(0.05)
    assert binom.cdf(7, 30, high) == pytest.approx(0.05)


@pytest.mark.parametrize(("k", "n", "options"), [(-1, 5, {}), (6, 5, {}), (0, 0, {}), (1, 5, {"confidence": 1.0})])
def test_impossible_counts_are_refused(k, n, options):
    with pytest.raises(ValueError, match="give"):
        binomial_interval(k, n, **options)
