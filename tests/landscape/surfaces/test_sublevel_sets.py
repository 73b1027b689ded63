"""Merge trees against flood fill at every level, on random grids of one to three dimensions."""

import numpy as np
import pytest

from leadline.landscape import merge_tree, sublevel_components
from leadline.landscape.surfaces.sublevel_sets import local_minima_on


@pytest.mark.parametrize("shape", [(40,), (9, 8), (5, 4, 6)])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("levels", [6, 10**6])
def test_the_tree_counts_the_components_that_flood_fill_finds_at_every_level(shape, diagonal, levels):
    values = np.random.default_rng(0).integers(0, levels, shape).astype(float)
    tree = merge_tree(values, diagonal=diagonal)
    every = np.unique(values)
    counted = [sublevel_components(values, c, diagonal=diagonal).count for c in every]
    assert tree.components(every).tolist() == counted
    assert tree.births.tolist() == local_minima_on(values, diagonal=diagonal).levels.tolist()
    assert np.array_equal(values[tuple(tree.places.T)], tree.births)
    assert (tree.births[tree.parents[1:]] <= tree.births[1:]).all()


def test_barriers_are_minimax_path_levels():
    values = np.array([0.0, 5.0, 1.0, 3.0, 2.0, 4.0, 1.5])
    tree = merge_tree(values)
    places = tree.places[:, 0]
    for i in range(len(places)):
        for j in range(len(places)):
            low, high = sorted((places[i], places[j]))
            assert tree.barrier(i, j) == values[low : high + 1].max()


def test_components_sizes_and_a_plateau():
    found = sublevel_components(np.array([[0.0, 0.0, 9.0], [9.0, 9.0, 0.0]]), 1.0)
    assert (found.count, found.sizes.tolist()) == (2, [2, 1])
    assert sublevel_components(np.array([[0.0, 9.0], [9.0, 0.0]]), 1.0, diagonal=True).count == 1
    assert merge_tree(np.zeros((3, 3))).births.tolist() == [0.0]


def test_strict_minima_are_single_points():
    found = local_minima_on(np.array([1.0, 1.0, 2.0, 0.5, 3.0]))
    assert (found.levels.tolist(), found.strict.tolist()) == ([0.5, 1.0], [True, False])


def test_bad_grids_are_told():
    with pytest.raises(ValueError, match="one to three dimensions"):
        merge_tree(np.zeros((2, 2, 2, 2)))
    with pytest.raises(ValueError, match="not numbers"):
        sublevel_components(np.array([0.0, np.nan]), 1.0)
