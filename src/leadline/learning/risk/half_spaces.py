"""The half-space of least training error, exactly: the zero-one loss minimised by listing all dichotomies."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, Real

from leadline.linear_classifiers.dichotomies import enumerate_cells


class HalfSpace(NamedTuple):
    """The classifier sgn(w·x + b) and how many examples it gets wrong; none of them lies on its plane."""

    weights: Float[np.ndarray, " d"]
    bias: float
    errors: int


def best_half_space(
    x: Real[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"], *, bias: bool = True
) -> HalfSpace:
    """A half-space with the fewest errors, y(w·x + b) ≤ 0 counting as one, over all dichotomies of the points.

    The error is constant on each cell of weights, so one witness of each cell decides; points on the plane count as
    errors, so cells of lower dimension cannot do better. The number of cells grows like nᵈ, and finding the best
    half-space is NP-hard when d is not fixed (Johnson and Preparata 1978).

    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> best_half_space(corners, np.array([1, 1, -1, -1])).errors
    1
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if y.shape != x.shape[:1] or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("best_half_space needs one label -1 or +1 for each row of x; map 0/1 by y = 2t - 1.")
    cells = enumerate_cells(x, bias=bias)
    if len(cells.signs) == 0:
        raise ValueError("No half-space has all points off its plane: a row of x is zero; remove it or add a bias.")
    errors = (cells.signs != y).sum(axis=1)
    best = int(errors.argmin())
    w = cells.witnesses[best]
    return HalfSpace(w[:-1] if bias else w, float(w[-1]) if bias else 0.0, int(errors[best]))
