"""How many of the largest eigenvalues stand apart from the others."""

import numpy as np
from jaxtyping import Array, Float

FLOOR = 1e-3  # of the largest: gaps further down are between eigenvalues that count as none


def count_outliers(values: Float[np.ndarray | Array, " k"]) -> int:
    """The number of eigenvalues before the widest relative gap λᵢ/λᵢ₊₁ among the largest, given in descending order.

    Trained classifiers have about as many as classes (Sagun et al. 2017; Papyan 2019): a finding, not a theorem. Gaps
    below a thousandth of the largest do not count; 0 where no eigenvalue is positive.

    >>> count_outliers(np.array([9.0, 8.0, 7.0, 1.0, 0.9, 0.8]))
    3
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or not len(values) or np.any(np.diff(values) > 0):
        raise ValueError("count_outliers needs the largest eigenvalues in descending order; give at least one.")
    if not values[0] > 0:
        return 0
    if len(values) == 1:
        return 1
    clipped = np.maximum(values, FLOOR * values[0])
    return int(np.argmax(clipped[:-1] / clipped[1:])) + 1
