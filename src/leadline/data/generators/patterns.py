"""Patterns of signs to store in an associative memory: random ones, and the ten digits as bitmaps."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from ..sources.digit_images import digits


def random_signs(n: int, d: int, *, key: PRNGKeyArray, dtype: np.dtype | type | None = None) -> Num[Array, "{n} {d}"]:
    """n independent patterns of d fair signs, as rows of -1 and +1 (floats, or the dtype given).

    >>> import jax
    >>> signs = random_signs(3, 5, key=jax.random.key(0))
    >>> signs.shape, bool((abs(signs) == 1).all())
    ((3, 5), True)
    """
    if n < 1 or d < 1:
        raise ValueError(f"random_signs needs at least one pattern of at least one sign, but got n = {n}, d = {d}.")
    return jax.random.rademacher(key, (n, d), dtype=jnp.result_type(float) if dtype is None else dtype)


def binarise(images: Float[np.ndarray, "*batch d"], threshold: float = 0.5) -> Float[np.ndarray, "*batch d"]:
    """Pixels above the threshold become +1 (ink), the others -1.

    >>> import numpy as np
    >>> binarise(np.array([0.2, 0.5, 0.9])).tolist()
    [-1.0, -1.0, 1.0]
    """
    return np.where(images > threshold, 1.0, -1.0)


def digit_bitmaps() -> Float[np.ndarray, "10 64"]:
    """The ten class-majority bitmaps of the 8x8 digits: row c has +1 where at least half of the images of c have ink.

    Ink is a pixel above half of full scale. The rows are strongly correlated: their mean pairwise overlap
    x_s.x_t/64 is 0.545, the largest 0.81.

    >>> bitmaps = digit_bitmaps()
    >>> bitmaps.shape, round(float(bitmaps[3] @ bitmaps[9]) / 64, 3)
    ((10, 64), 0.812)
    """
    images, labels = digits()
    signs = binarise(images)
    return np.stack([np.where(signs[labels == c].mean(axis=0) >= 0, 1.0, -1.0) for c in range(10)])
