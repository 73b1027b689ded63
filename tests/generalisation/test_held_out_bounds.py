import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from leadline import generalisation as g
from leadline.generalisation.bounds import Bound
from leadline.generalisation.held_out_bounds import bernstein_test_size, exact_test_size, hoeffding_test_size


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 50), (50, 50), (499, 1000)])
def test_exact_intervals_are_those_of_scipy(k, n):
    for side, alternative in (("two-sided", "two-sided"), ("upper", "less"), ("lower", "greater")):
        found = g.exact_interval(k, n, confidence=0.97, side=side)
        known = binomtest(k, n, alternative=alternative).proportion_ci(0.97)
        assert found.low == pytest.approx(known.low, abs=1e-12)
        assert found.high == pytest.approx(known.high, abs=1e-12)


def test_the_exact_upper_end_solves_its_equation():
    high = g.exact_test_bound(5, 80, confidence=0.9).value
    assert binom.cdf(5, 80, high) == pytest.approx(0.1)


@pytest.mark.parametrize("errors", [0, 1, 20, 99, 100])
def test_exact_chernoff_and_hoeffding_are_ordered(errors):
    exact, chernoff, hoeffding = (
        rule(errors, 100).value for rule in (g.exact_test_bound, g.chernoff_test_bound, g.hoeffding_test_bound)
    )
    assert exact <= chernoff + 1e-12
    assert chernoff <= hoeffding + 1e-12
    assert hoeffding == pytest.approx(errors / 100 + math.sqrt(math.log(20) / 200))


def test_sizes_are_least_sufficient_ones():
    assert hoeffding_test_size(0.01) == 18445
    n = exact_test_size(0.05)
    widths = [g.exact_interval(m // 2, m).half for m in range(n - 1, n + 40)]
    assert widths[0] > 0.05 >= max(widths[1:])
    assert exact_test_size(0.02, 0.01) < exact_test_size(0.02, 0.5) < hoeffding_test_size(0.02)
    assert bernstein_test_size(0.01, 0.0) == math.ceil(math.log(40) * 2 / 0.03)


def test_a_bound_at_chance_is_vacuous():
    assert g.exact_test_bound(90, 100, trivial=0.9).vacuous
    assert not g.exact_test_bound(80, 100, trivial=0.9).vacuous


def test_bound_says_whether_it_applies_and_keeps_logs():
    bound = Bound.inapplicable("error", "n ≥ V")
    assert (bound.valid, bound.vacuous, bound.informative, bound.value) == (False, False, False, math.inf)
    assert Bound.from_log(1e6, "p").log == 1e6
    assert Bound.from_log(1e6, "p").vacuous
    assert Bound(np.float64(0.5), "p").log == pytest.approx(math.log(0.5))
    with pytest.raises(ValueError, match="not negative"):
        Bound(math.nan, "error")


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="from 0 to 10"):
        g.exact_interval(11, 10)
    with pytest.raises(ValueError, match="confidence is 1"):
        g.exact_interval(1, 10, confidence=1.0)
    with pytest.raises(ValueError, match="half-width is 0"):
        hoeffding_test_size(0.0)
    with pytest.raises(ValueError, match="upper limit"):
        exact_test_size(0.1, 0.7)
    with pytest.raises(ValueError, match="between 0 and 1/2"):
        bernstein_test_size(0.1, 0.7)
