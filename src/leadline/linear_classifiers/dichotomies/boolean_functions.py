"""Boolean functions of d inputs that one real-weight threshold unit computes."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from .cells import enumerate_cells
from .labelings import realise


def hypercube(d: int) -> Float[np.ndarray, "vertices d"]:
    """The 2ᵈ corners of {0, 1}^d; bit i of the row number is coordinate i.

    >>> hypercube(2).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    return (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(float)


def linear_functions(
    d: int, *, method: Literal["classes", "labelings", "cells"] = "classes"
) -> Bool[np.ndarray, " functions"]:
    """Which of the 2^(2ᵈ) Boolean functions of d inputs are f(x) = 1{w·x + b > 0} for some real w, b; d ≤ 4.

    Function number f takes the value of bit k of f at corner k of `hypercube(d)`. Three independent ways: "classes"
    asks one linear programme per class of `symmetry_classes` (222 of them at d = 4); "labelings" one per function;
    "cells" enumerates the cells that the corners cut out of the space of (w, b).

    >>> [int(linear_functions(d).sum()) for d in (1, 2, 3)]
    [4, 14, 104]
    """
    _check(d)
    points = np.column_stack([hypercube(d), np.ones(2**d)])
    functions = 2 ** (2**d)
    if method == "classes":
        _, representatives, member = np.unique(symmetry_classes(d), return_index=True, return_inverse=True)
        return realise(points, _tables(d, representatives)).possible[member]
    if method == "labelings":
        half = realise(points, _tables(d, np.arange(functions // 2))).possible
        return np.concatenate([half, half[::-1]])  # the complement of f is number 2^(2ᵈ) - 1 - f
    if method == "cells":
        tables = enumerate_cells(points).signs > 0
        linear = np.zeros(functions, dtype=bool)
        linear[tables @ (1 << np.arange(2**d))] = True
        return linear
    raise ValueError(f"method is {method!r}; expected 'classes', 'labelings' or 'cells'.")


def symmetry_classes(d: int) -> Int[np.ndarray, " functions"]:
    """The class of each Boolean function under permuting inputs, negating inputs and negating the output; d ≤ 4.

    A threshold unit absorbs each of these into its weights, so either a whole class is linear or none of it. Found as
    the connected components of the graph that joins f to its images under generators of the group.

    >>> [int(symmetry_classes(d).max()) + 1 for d in (1, 2, 3, 4)]
    [2, 4, 14, 222]
    """
    _check(d)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    corners, functions = np.arange(2**d), np.arange(2 ** (2**d))
    images = [functions[::-1]]  # the complement
    moves = [corners ^ 1]  # negate input 0
    for i in range(d - 1):  # swap inputs i and i + 1
        differ = (corners >> i ^ corners >> i + 1) & 1
        moves.append(corners ^ differ * (3 << i))
    for move in moves:
        images.append(sum((functions >> int(move[k]) & 1) << k for k in corners))
    source, target = np.tile(functions, len(images)), np.concatenate(images)
    graph = coo_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(len(functions),) * 2)
    return connected_components(graph, directed=False)[1]


def _tables(d: int, functions: np.ndarray) -> np.ndarray:
    return 2.0 * (functions[:, None] >> np.arange(2**d) & 1) - 1.0


def _check(d: int) -> None:
    if not 1 <= d <= 4:
        raise ValueError(f"d = {d} inputs have 2**(2**{d}) Boolean functions; expected 1 ≤ d ≤ 4.")
