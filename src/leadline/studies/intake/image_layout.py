"""Which axes of an input are the height, width and colours of an image, in either order."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Num

COLOURS = (1, 3, 4)  # grey, RGB, RGB with transparency
FEWEST_PIXELS = 4  # along an axis, where nothing else says that it is an image


class ImageLayout(NamedTuple):
    """An input of `shape` as an image: (height, width), (height, width, colours) or (colours, height, width)."""

    height: int
    width: int
    colours: int
    channels_first: bool
    shape: tuple[int, ...]

    def to_images(self, inputs: Num[np.ndarray, "n ..."]) -> Num[np.ndarray, "n h w c"]:
        """Rows of inputs as images with their colours last.

        >>> layout_of((3, 8, 6)).to_images(np.zeros((5, 3, 8, 6))).shape
        (5, 8, 6, 3)
        """
        if self.channels_first:
            return np.moveaxis(inputs, 1, -1)
        return inputs.reshape(len(inputs), self.height, self.width, self.colours)

    def from_images(self, images: Num[np.ndarray, "n h w c"]) -> Num[np.ndarray, "n ..."]:
        """The images as the network takes them: undoes `to_images`."""
        return (
            np.ascontiguousarray(np.moveaxis(images, -1, 1))
            if self.channels_first
            else images.reshape(len(images), *self.shape)
        )


def layout_of(shape: tuple[int, ...]) -> ImageLayout | None:
    """The layout of an input of this shape, or None where it is no image; colours are last where both ends could be.

    >>> layout_of((28, 28)), layout_of((3, 32, 32)).channels_first, layout_of((5, 7, 9))
    (ImageLayout(height=28, width=28, colours=1, channels_first=False, shape=(28, 28)), True, None)
    """
    if len(shape) == 2 and min(shape) >= FEWEST_PIXELS:
        return ImageLayout(*shape, 1, False, shape)
    if len(shape) == 3 and shape[2] in COLOURS:
        return ImageLayout(*shape, False, shape)
    if len(shape) == 3 and shape[0] in COLOURS and min(shape[1:]) >= FEWEST_PIXELS:
        return ImageLayout(*shape[1:], shape[0], True, shape)
    return None
