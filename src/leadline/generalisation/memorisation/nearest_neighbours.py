"""The nearest training row: how far it is, and what it would have answered."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

TOGETHER = 1000  # rows whose distances are held at once


class Nearest(NamedTuple):
    """The index of the nearest row and its Euclidean distance, for each point."""

    index: Int[np.ndarray, " n"]
    distance: Float[np.ndarray, " n"]


def nearest_rows(points: Num[np.ndarray, "n ..."], rows: Num[np.ndarray, "m ..."], *, others: bool = False) -> Nearest:
    """argmin_j ‖x_i - r_j‖ for each point; with `others`, points are the first rows themselves and j ≠ i.

    >>> nearest_rows(np.array([[0.0], [5.0]]), np.array([[1.0], [4.0], [9.0]])).index.tolist()
    [0, 1]
    """
    x, r = (np.asarray(a, float).reshape(len(a), -1) for a in (points, rows))
    if x.shape[1] != r.shape[1] or len(r) < 1 + others:
        raise ValueError(
            f"nearest_rows got shapes {x.shape} and {r.shape}; give rows of one width, 2 or more for others."
        )
    centre = r.mean(0)  # distances of rows that lie together far from 0 would cancel
    x, r = x - centre, r - centre
    squares, index = (r**2).sum(1), np.empty(len(x), int)
    for start in range(0, len(x), TOGETHER):
        part = slice(start, start + TOGETHER)
        apart = squares - 2 * x[part] @ r.T
        if others:
            inside = np.arange(start, min(start + TOGETHER, len(x)))
            apart[np.arange(len(inside)), inside] = np.inf
        index[part] = apart.argmin(1)
    return Nearest(index, np.linalg.norm(x - r[index], axis=1))
