"""Synthetic fruit: apples and peppers as marked (red) pixels, equal in area, different in shape."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from ..randomness import generator


class FruitImages(NamedTuple):
    """Masks of the marked pixels, and labels: +1 for an apple, -1 for a pepper."""

    marked: Bool[np.ndarray, "n s s"]
    labels: Float[np.ndarray, " n"]


def fruit_images(samples: int, size: int = 16, *, noise: float = 0.05, key: PRNGKeyArray) -> FruitImages:
    """A disc (apple) of radius about size/6, or a bar (pepper) three times as long as wide and of the same area.

    The place is uniform among those where the fruit is whole, the bar lies or stands; each pixel is then flipped with
    probability `noise`. The number of marked pixels says nothing about the label on average.

    >>> import jax
    >>> fruit = fruit_images(3, 16, key=jax.random.key(0))
    >>> fruit.marked.shape, set(fruit.labels.tolist()) <= {-1.0, 1.0}
    ((3, 16, 16), True)
    """
    if samples < 1 or size < 6 or not 0 <= noise < 0.5:
        raise ValueError(
            f"fruit_images got samples={samples}, size={size}, noise={noise}; "
            "expected samples >= 1, size >= 6 and noise in [0, 0.5)."
        )
    rng = generator(key)
    labels = rng.choice([-1.0, 1.0], samples)
    radius = size / 6
    half_width = radius * (np.pi / 12) ** 0.5  # 2h x 6h has the area of the disc
    lies = rng.random(samples) < 0.5
    reach = np.where(labels[:, None] > 0, radius, np.where(np.stack([lies, ~lies], 1), 3, 1) * half_width)
    centre = reach + rng.random((samples, 2)) * (size - 2 * reach)  # (across, down)
    middle = np.arange(size) + 0.5
    across = np.abs(middle[None, None, :] - centre[:, 0, None, None])
    down = np.abs(middle[None, :, None] - centre[:, 1, None, None])
    disc = across**2 + down**2 <= radius**2
    bar = (across <= reach[:, 0, None, None]) & (down <= reach[:, 1, None, None])
    shape = np.where(labels[:, None, None] > 0, disc, bar)
    return FruitImages(shape ^ (rng.random(shape.shape) < noise), labels)
