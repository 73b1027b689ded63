"""Indicators of boxes: whether enough pixels of an axis-aligned box are marked, through the integral image."""

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from leadline.data import generator

#: rows (top, bottom, left, right) with 0 ≤ top < bottom ≤ s, and the same across
Boxes = Int[np.ndarray, "m 4"]


def box_count(size: int) -> int:
    """The number (s(s + 1)/2)² of axis-aligned boxes of whole pixels in an s x s image.

    >>> box_count(100)
    25502500
    """
    return (size * (size + 1) // 2) ** 2


def all_boxes(size: int) -> Boxes:
    """Every box of an s x s image.

    >>> all_boxes(1).tolist()
    [[0, 1, 0, 1]]
    """
    if not 1 <= size <= 40:
        raise ValueError(
            f"all_boxes got size {size}; from 1 to 40 (672,400 boxes) it lists them, beyond use random_boxes."
        )
    low, high = np.triu_indices(size)
    first, second = np.divmod(np.arange(len(low) ** 2), len(low))
    return np.column_stack([low[first], high[first] + 1, low[second], high[second] + 1])


def random_boxes(size: int, boxes: int, *, key: PRNGKeyArray) -> Boxes:
    """Boxes drawn uniformly and independently from all of an s x s image.

    >>> import jax
    >>> random_boxes(100, 7, key=jax.random.key(0)).shape
    (7, 4)
    """
    if size < 1 or boxes < 1:
        raise ValueError(f"random_boxes got size={size}, boxes={boxes}; both must be positive.")
    rng = generator(key)
    # Two different ones of the size + 1 grid lines, in each direction.
    first = rng.integers(0, size + 1, (boxes, 2))
    second = (first + rng.integers(1, size + 1, (boxes, 2))) % (size + 1)
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)


def integral_image(images: Num[Array | np.ndarray, "n h w"] | Bool[np.ndarray, "n h w"]) -> Num[np.ndarray, "n h1 w1"]:
    """I[i, j] = the sum over all pixels above row i and left of column j; one row and column more than the image.

    >>> integral_image(np.array([[[1, 2], [3, 4]]]))[0].tolist()
    [[0, 0, 0], [0, 1, 3], [0, 4, 10]]
    """
    images = np.asarray(images)
    images = images.astype(np.int64) if images.dtype == bool else images
    return np.pad(images.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))


def box_sums(integral: Num[np.ndarray, "n h1 w1"], boxes: Boxes) -> Num[np.ndarray, "n m"]:
    """The sum over each box, from four corners of the integral image, whatever the size of the box. Crow 1984.

    >>> box_sums(integral_image(np.array([[[1, 2], [3, 4]]])), np.array([[0, 2, 1, 2]])).tolist()
    [[6]]
    """
    top, bottom, left, right = boxes.T
    if (boxes < 0).any() or (top >= bottom).any() or (left >= right).any():
        raise ValueError("box_sums got a box that is empty or out of the image; give rows (top, bottom, left, right).")
    if bottom.max() >= integral.shape[1] or right.max() >= integral.shape[2]:
        raise ValueError(f"box_sums got a box beyond the image of {integral.shape[1] - 1} x {integral.shape[2] - 1}.")
    return integral[:, bottom, right] - integral[:, top, right] - integral[:, bottom, left] + integral[:, top, left]


def box_features(
    marked: Bool[np.ndarray, "n h w"], boxes: Boxes, *, threshold: float = 0.5
) -> Float[np.ndarray, "n m"]:
    """φ_B(x) = 1 if more than a share `threshold` of the pixels of B is marked, else 0.

    >>> box_features(np.array([[[True, False], [True, True]]]), np.array([[0, 2, 0, 2], [0, 1, 1, 2]])).tolist()
    [[1.0, 0.0]]
    """
    top, bottom, left, right = boxes.T
    area = (bottom - top) * (right - left)
    return (box_sums(integral_image(marked), boxes) > threshold * area).astype(float)
