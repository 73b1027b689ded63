"""The 8x8 handwritten digits bundled with scikit-learn."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Digits(NamedTuple):
    """1797 images of handwritten digits, flattened row by row, pixels in [0, 1]."""

    images: Float[np.ndarray, "n 64"]
    labels: Int[np.ndarray, " n"]


def digits() -> Digits:
    """Load the UCI optical digits (Alpaydin and Kaynak 1998, test part) from scikit-learn's bundle.

    >>> images, labels = digits()
    >>> images.shape, float(images.max())
    ((1797, 64), 1.0)
    """
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return Digits(bundle.data / 16.0, bundle.target)
