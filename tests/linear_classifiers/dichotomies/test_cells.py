"""Incremental cell enumeration against trying every labeling, and against plane geometry."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from leadline.linear_classifiers import dichotomies


@pytest.mark.parametrize(("n", "d"), [(4, 2), (3, 3), (6, 3), (8, 3), (8, 4), (10, 4), (7, 1)])
def test_cells_and_labelings_count_alike_on_gaussian_points(n, d):
    x = np.random.default_rng(n * d).normal(size=(n, d))
    assert dichotomies.count_dichotomies(x) == dichotomies.count_dichotomies(x, method="labelings")


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(-2, 2).map(float)))
def test_cells_and_labelings_count_alike_on_degenerate_grids(x):
    assert dichotomies.count_dichotomies(x) == dichotomies.count_dichotomies(x, method="labelings")


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(int, st.tuples(st.integers(1, 12), st.just(2)), elements=st.integers(-4, 4)))
def test_in_the_plane_there_are_two_cells_per_distinct_line(x):
    if not np.any(x, axis=1).all():
        expected = 0  # a point at the origin lies on every hyperplane
    else:
        cross = x[:, :1] * x[:, 1] - x[:, 1:] * x[:, 0]
        distinct = sum(not np.any(cross[i, :i] == 0) for i in range(len(x)))
        expected = 2 * distinct
    assert dichotomies.count_dichotomies(x.astype(float)) == expected


def test_on_a_line_with_bias_there_are_two_labelings_per_distinct_point():
    x = np.array([[0.0], [3.0], [1.0], [3.0], [-2.0]])
    assert dichotomies.count_dichotomies(x, bias=True) == 8


def test_every_cell_is_distinct_and_holds_its_witness():
    x = np.random.default_rng(0).normal(size=(11, 4))
    cells = dichotomies.enumerate_cells(x)
    assert len(np.unique(cells.signs, axis=0)) == len(cells.signs) == cells.counts[-1]
    np.testing.assert_array_equal(np.sign(cells.witnesses @ x.T), cells.signs)


def test_prefix_counts_and_splits_are_those_of_the_prefixes():
    x = np.random.default_rng(5).integers(-2, 3, size=(8, 3)).astype(float)
    cells = dichotomies.enumerate_cells(x)
    prefixes = [dichotomies.count_dichotomies(x[: k + 1], method="labelings") for k in range(8)]
    np.testing.assert_array_equal(cells.counts, prefixes)
    np.testing.assert_array_equal(cells.splits, np.diff(prefixes, prepend=1))


def test_the_count_ignores_linear_maps_and_positive_rescaling():
    rng = np.random.default_rng(6)
    x = rng.integers(-2, 3, size=(9, 3)).astype(float)
    moved = x @ rng.normal(size=(3, 3)) * rng.uniform(0.01, 100, size=(9, 1))
    assert dichotomies.count_dichotomies(moved) == dichotomies.count_dichotomies(x)


def test_more_cells_than_can_be_listed_are_refused():
    with pytest.raises(ValueError, match="use fewer points"):
        dichotomies.enumerate_cells(np.ones((60, 8)))
    with pytest.raises(ValueError, match="n ≤ 16"):
        dichotomies.count_dichotomies(np.ones((17, 2)), method="labelings")
