"""Scans of products that do not commute, and what they cost."""

import numpy as np
import pytest

from leadline.sequences import prefix_scan


@pytest.mark.parametrize("algorithm", ["hillis-steele", "blelloch", "sequential"])
@pytest.mark.parametrize("length", [1, 2, 3, 8, 13])
def test_prefixes_of_matrices_that_do_not_commute(algorithm, length):
    matrices = np.random.default_rng(length).integers(-3, 4, (length, 2, 2))
    found = prefix_scan(np.matmul, matrices, algorithm=algorithm, identity=np.eye(2, dtype=int))
    expected = [matrices[0]]
    for matrix in matrices[1:]:
        expected.append(expected[-1] @ matrix)
    np.testing.assert_array_equal(found.prefixes, expected)


def test_costs_are_those_of_the_literature():
    ones = np.ones(64, int)
    costs = {
        a: prefix_scan(np.add, ones, algorithm=a, identity=0)[1:] for a in ("hillis-steele", "blelloch", "sequential")
    }
    assert costs == {"hillis-steele": (6, 64 * 6 - 63), "blelloch": (12, 126), "sequential": (63, 63)}


def test_jax_scans_with_less_than_two_operations_an_element():
    found = prefix_scan(lambda a, b: a + b, np.ones(16), algorithm="odd-even")
    assert found[1:] == (7, 26)
    np.testing.assert_array_equal(found.prefixes, np.arange(1, 17))


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="identity"):
        prefix_scan(np.add, np.ones(3))
    with pytest.raises(ValueError, match="at least one"):
        prefix_scan(np.add, np.ones(0), algorithm="hillis-steele")
    with pytest.raises(ValueError, match="one row for each element"):
        prefix_scan(np.add, (np.ones(2), np.ones(3)), algorithm="hillis-steele")
