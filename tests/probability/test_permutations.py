"""The validator of permutation matrices."""

from itertools import product

import numpy as np
import pytest

from leadline.probability import permutation_order
from leadline.probability.permutations import permutation_fault


def test_of_all_binary_matrices_of_size_three_six_pass():
    every = [np.array(bits).reshape(3, 3) for bits in product((0, 1), repeat=9)]
    assert sum(not permutation_fault(m) for m in every) == 6


@pytest.mark.parametrize(
    ("matrix", "fault"),
    [
        (np.ones((2, 3)), "not square"),
        (np.full((2, 2), 0.5), "neither 0 nor 1"),
        (np.array([[2, -1], [-1, 2]]), "neither 0 nor 1"),
        (np.zeros((2, 2)), "row 0 sums to 0"),
        (np.array([[0, 1], [0, 1]]), "column 0 sums to 0"),
        (np.array([[np.nan, 1.0], [1.0, 0.0]]), "nan"),
    ],
)
def test_each_fault_is_named(matrix, fault):
    assert fault in permutation_fault(matrix)


def test_the_order_is_that_of_the_rows():
    order = np.array([2, 0, 3, 1])
    assert permutation_order(np.eye(4)[order]).tolist() == order.tolist()
    with pytest.raises(ValueError, match="no permutation: row 0 sums to 2"):
        permutation_order(np.ones((2, 2)))
