"""Permutation matrices: what makes one, and which condition a matrix lacks."""

import numpy as np
from jaxtyping import Array, Num


def permutation_fault(matrix: Num[np.ndarray | Array, "rows columns"]) -> str:
    """Why a matrix is not a permutation matrix, in words; empty if it is one.

    It is one iff its entries are 0 or 1 and every row and column sums to 1. Unit row and column sums alone, of entries
    at least 0, make a doubly stochastic matrix; of these only permutations commute with every pointwise function.

    >>> permutation_fault(np.array([[0, 1], [1, 0]]))
    ''
    >>> permutation_fault(np.full((2, 2), 0.5))
    'entry [0, 0] is 0.5, neither 0 nor 1'
    """
    array = np.asarray(matrix)
    rows, columns = array.shape
    if rows != columns:
        return f"it has {rows} rows and {columns} columns, and is not square"
    odd = np.argwhere((array != 0) & (array != 1))
    if len(odd):
        i, j = odd[0]
        return f"entry [{i}, {j}] is {array[i, j]:g}, neither 0 nor 1"
    for name, sums in (("row", array.sum(axis=1)), ("column", array.sum(axis=0))):
        wrong = np.flatnonzero(sums != 1)
        if len(wrong):
            return f"{name} {wrong[0]} sums to {sums[wrong[0]]:g}, not to 1"
    return ""


def permutation_order(matrix: Num[np.ndarray | Array, "n n"]) -> np.ndarray:
    """The order that a permutation matrix puts entries into: (P v)[i] = v[order[i]].

    >>> permutation_order(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])).tolist()
    [1, 2, 0]
    """
    fault = permutation_fault(matrix)
    if fault:
        raise ValueError(
            f"The matrix is no permutation: {fault}; give a matrix with a single 1 in each row and column."
        )
    return np.argmax(np.asarray(matrix), axis=1)
