"""Cover's count against the binomial law, the recurrence and the numbers of the curriculum."""

import numpy as np
import pytest
from scipy.stats import binom

from leadline.linear_classifiers import dichotomies
from leadline.linear_classifiers.dichotomies.cover import cover_share, cover_table, points_at_share


def test_the_printed_table_of_exact_counts():
    table = {(4, 2): 8, (3, 3): 8, (6, 3): 32, (8, 3): 58, (8, 4): 128, (10, 4): 260}
    assert {pair: dichotomies.cover_count(*pair) for pair in table} == table


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_the_share_is_a_binomial_tail(d):
    n = np.arange(1, 80)
    share = [float(cover_share(int(k), d)) for k in n]
    np.testing.assert_allclose(share, binom.cdf(d - 1, n - 1, 0.5), rtol=1e-12)


def test_the_recurrence_builds_the_closed_form():
    table = cover_table(30, 12)
    assert table == [[dichotomies.cover_count(n, d) for d in range(1, 13)] for n in range(1, 31)]


def test_the_share_is_exact_where_floats_would_overflow():
    assert 2 * cover_share(4000, 2000) == 1


@pytest.mark.parametrize("pair", [(0, 3), (3, 0), (-1, -1)])
def test_empty_sets_and_dimensions_are_refused(pair):
    for function in (dichotomies.cover_count, cover_share, cover_table):
        with pytest.raises(ValueError, match="at least 1"):
            function(*pair)


@pytest.mark.parametrize("d", [1, 3, 40, 5000])
@pytest.mark.parametrize("share", [0.02, 0.25, 0.5, 0.9])
def test_the_real_crossing_lies_between_the_integers_around_it(d, share):
    n = points_at_share(share, d)
    assert binom.cdf(d - 1, np.floor(n - 1e-6) - 1, 0.5) >= share - 1e-9
    assert binom.cdf(d - 1, np.ceil(n + 1e-6) - 1, 0.5) <= share + 1e-9


def test_a_share_outside_the_open_unit_interval_is_refused():
    for share in (0.0, 1.0, -0.5):
        with pytest.raises(ValueError, match="strictly between"):
            points_at_share(share, 3)
