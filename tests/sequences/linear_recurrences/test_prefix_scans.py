"""Scans of products that do not commute, and what they cost."""

import jax
import numpy as np
import pytest

from leadline.sequences import prefix_scan

COSTS = {
    "hillis-steele": (6, 64 * 6 - 63),
    "blelloch": (12, 126),
    "sequential": (63, 63),
    "blocked": (31 + 1 + 1, 62 + 1 + 32),  # two blocks at once, their products, the second block with the first's
}


@pytest.mark.parametrize("algorithm", ["hillis-steele", "blelloch"])
@pytest.mark.parametrize("length", [1, 2, 3, 8, 13])
def test_prefixes_of_matrices_that_do_not_commute(algorithm, length):
    matrices = np.random.default_rng(length).integers(-3, 4, (length, 2, 2))
    found = prefix_scan(np.matmul, matrices, algorithm=algorithm, identity=np.eye(2, dtype=int))
    expected = [matrices[0]]
    for matrix in matrices[1:]:
        expected.append(expected[-1] @ matrix)
    np.testing.assert_array_equal(found.prefixes, expected)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("length", [1, 32, 33, 1100])
@pytest.mark.parametrize("algorithm", ["blocked", "sequential"])
def test_compiled_scans_are_the_associative_scan_of_jax(algorithm, length, reverse):
    matrices = jax.random.normal(jax.random.key(0), (length, 2, 2)) / 2 + np.eye(2)
    matrices = matrices / np.linalg.norm(matrices, axis=(1, 2), keepdims=True)

    def early_first(a, b):
        return a @ b

    found = prefix_scan(early_first, matrices, algorithm=algorithm, reverse=reverse).prefixes
    theirs = jax.lax.associative_scan((lambda a, b: b @ a) if reverse else early_first, matrices, reverse=reverse)
    np.testing.assert_allclose(found, theirs, atol=1e-12)


def test_costs_are_those_of_the_literature():
    ones = np.ones(64, int)
    costs = {a: prefix_scan(lambda a, b: a + b, ones, algorithm=a, identity=0)[1:] for a in COSTS}
    assert costs == COSTS


def test_jax_scans_with_less_than_two_operations_an_element():
    found = prefix_scan(lambda a, b: a + b, np.ones(16), algorithm="odd-even")
    assert found[1:] == (7, 26)
    np.testing.assert_array_equal(found.prefixes, np.arange(1, 17))


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="identity"):
        prefix_scan(np.add, np.ones(3), algorithm="blelloch")
    with pytest.raises(ValueError, match="at least one"):
        prefix_scan(np.add, np.ones(0), algorithm="hillis-steele")
    with pytest.raises(ValueError, match="one row for each element"):
        prefix_scan(np.add, (np.ones(2), np.ones(3)), algorithm="hillis-steele")
