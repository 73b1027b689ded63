"""Counting linear dichotomies: the cells into which the hyperplanes w·xᵢ = 0 cut the space of weights."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Real

from .cover import cover_count
from .labelings import THINNEST, all_labelings, realise, unit_points, with_bias

MOST_CELLS = 400_000


class Cells(NamedTuple):
    """Every linear dichotomy of n points, and how the points cut them out one after another.

    `counts[k]` cells exist once points 0..k are in, and `splits[k]` is how many cells point k cut in two on entering
    (the first point cuts the one empty-condition cell, so splits[0] = 1).
    """

    signs: Float[np.ndarray, "cells n"]
    witnesses: Float[np.ndarray, "cells d"]  # one w inside each cell, |wⱼ| ≤ 1
    counts: Int[np.ndarray, " n"]
    splits: Int[np.ndarray, " n"]


def enumerate_cells(x: Real[Array | np.ndarray, "n d"], *, bias: bool = False) -> Cells:
    """List all y in {-1,+1}ⁿ with some w such that yᵢ w·xᵢ > 0 for all i, by inserting one point after another.

    A cell's witness w lies on one side of the hyperplane of the new point, so that side is realised; one linear
    programme decides whether the other side is too. The cost is one programme per cell and point, not one for each of
    2ⁿ labelings. Cells come in opposite pairs, of which one is computed. With `bias`, x becomes (x, 1).

    >>> import numpy as np
    >>> cells = enumerate_cells(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -2.0]]))
    >>> cells.counts.tolist(), cells.splits.tolist()
    ([2, 4, 6, 8], [1, 2, 2, 2])
    """
    points = unit_points(with_bias(x, bias))
    n, d = points.shape
    if cover_count(n, d) > MOST_CELLS:
        raise ValueError(
            f"{n} points in R^{d} can have {cover_count(n, d)} dichotomies; at most {MOST_CELLS} are listed: "
            "use fewer points, or cover_count for points in general position."
        )
    signs, witnesses = np.ones((1, 1)), points[:1]
    if not points[0].any():
        signs, witnesses = signs[:0], witnesses[:0]
    counts, splits = [2 * len(signs)], [len(signs)]
    for k in range(1, n):
        scores = witnesses @ points[k]
        # A witness on the new hyperplane proves neither side; the sign given to it here only orders the two questions.
        near = np.where(scores >= 0, 1.0, -1.0)
        unsure = np.flatnonzero(np.abs(scores) <= THINNEST)
        known = np.setdiff1d(np.arange(len(signs)), unsure)
        asked = np.concatenate([np.arange(len(signs)), unsure])
        label = np.concatenate([-near, near[unsure]])
        tried = np.column_stack([signs[asked], label])
        found = realise(points[: k + 1], tried)
        before = len(signs)
        signs = np.concatenate([np.column_stack([signs[known], near[known]]), tried[found.possible]])
        witnesses = np.concatenate([witnesses[known], found.weights[found.possible]])
        counts.append(2 * len(signs))
        splits.append(max(2 * (len(signs) - before), 0))
    return Cells(
        signs=np.concatenate([signs, -signs]),
        witnesses=np.concatenate([witnesses, -witnesses]),
        counts=np.array(counts),
        splits=np.array(splits),
    )


def count_dichotomies(
    x: Real[Array | np.ndarray, "n d"], *, bias: bool = False, method: Literal["cells", "labelings"] = "cells"
) -> int:
    """C(S, d): the number of labelings of the rows of x that a hyperplane through the origin realises.

    `method="labelings"` asks one linear programme for each of the 2ⁿ labelings (n ≤ 16), an independent check of the
    incremental enumeration. Equal to `cover_count(n, d)` in general position, smaller otherwise (Cover 1965).

    >>> import numpy as np
    >>> corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> count_dichotomies(corners, bias=True)
    14
    """
    if method == "cells":
        return int(enumerate_cells(x, bias=bias).counts[-1])
    if method != "labelings":
        raise ValueError(f"method is {method!r}; expected 'cells' or 'labelings'.")
    points = with_bias(x, bias)
    if len(points) > 16:
        raise ValueError(f"{len(points)} points have too many labelings to try; expected n ≤ 16, or method='cells'.")
    halves = all_labelings(len(points))[1::2]  # y₁ = +1; the opposite labelings are realised by -w
    return 2 * int(realise(points, halves).possible.sum())
