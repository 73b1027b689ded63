"""Linear Boolean functions against small integer weights, and symmetry classes against the whole group."""

from itertools import permutations, product

import numpy as np
import pytest

from leadline.linear_classifiers.dichotomies.boolean_functions import hypercube, linear_functions, symmetry_classes


@pytest.mark.parametrize(("d", "count"), [(1, 4), (2, 14), (3, 104)])
def test_three_ways_of_finding_the_linear_functions_agree_with_small_integer_weights(d, count):
    # Integer weights up to 2 with half-integer thresholds realise every threshold function of at most three inputs.
    corners = hypercube(d)
    realised = np.zeros(2 ** (2**d), dtype=bool)
    for w in product(range(-2, 3), repeat=d):
        for threshold in np.arange(-6.5, 7):
            realised[int((corners @ w > threshold) @ (1 << np.arange(2**d)))] = True
    for method in ("classes", "labelings", "cells"):
        np.testing.assert_array_equal(linear_functions(d, method=method), realised)
    assert realised.sum() == count


def test_four_inputs_have_1882_linear_functions_by_classes_and_by_cells():
    classes = linear_functions(4)
    np.testing.assert_array_equal(classes, linear_functions(4, method="cells"))
    assert classes.sum() == 1882


@pytest.mark.parametrize("d", [1, 2, 3])
def test_classes_are_the_orbits_of_the_whole_group(d):
    corners = hypercube(d).astype(int)
    powers, number = 1 << np.arange(d), 1 << np.arange(2**d)
    classes = symmetry_classes(d)
    orbits = set()
    for f in range(2 ** (2**d)):
        table = f >> np.arange(2**d) & 1
        orbit = set()
        for order in permutations(range(d)):
            for flip in product((0, 1), repeat=d):
                moved = table[(corners[:, list(order)] ^ np.array(flip)) @ powers]
                orbit |= {int(moved @ number), int((1 - moved) @ number)}
        assert len(set(classes[list(orbit)])) == 1
        orbits.add(frozenset(orbit))
    assert len(orbits) == classes.max() + 1


def test_parity_is_linear_only_for_one_input():
    for d in (1, 2, 3, 4):
        parity = int((hypercube(d).sum(axis=1) % 2).astype(int) @ (1 << np.arange(2**d)))
        assert linear_functions(d)[parity] == (d == 1)


def test_five_inputs_are_refused():
    with pytest.raises(ValueError, match="d ≤ 4"):
        linear_functions(5)
