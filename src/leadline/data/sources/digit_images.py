"""The 8x8 handwritten digits bundled with scikit-learn."""

from functools import lru_cache
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


class DigitsSplit(NamedTuple):
    """The digits in a training and a test part; the images in rows of 64 pixels in [0, 1]."""

    train_images: Float[np.ndarray, "train 64"]
    train_labels: Int[np.ndarray, " train"]
    test_images: Float[np.ndarray, "test 64"]
    test_labels: Int[np.ndarray, " test"]


@lru_cache
def digits_split(train: int = 1297) -> DigitsSplit:
    """The digits, shuffled by one fixed permutation; the first `train` of them are for training, the rest for testing.

    >>> [part.shape for part in digits_split()]
    [(1297, 64), (1297,), (500, 64), (500,)]
    """
    images, labels = digits()
    if not 1 <= train < len(labels):
        raise ValueError(f"digits_split got {train} training images of {len(labels)}; choose 1 to {len(labels) - 1}.")
    order = np.random.default_rng(0).permutation(len(labels))
    first, last = order[:train], order[train:]
    return DigitsSplit(images[first], labels[first], images[last], labels[last])
