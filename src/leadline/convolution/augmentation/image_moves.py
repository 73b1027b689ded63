"""Random moves of images by whole pixels: shifts, crops with padding, mirrors, and hidden squares."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Num, PRNGKeyArray

from .pipelines import require_probability, require_scale

Image = Num[Array, "..."]  #: (height, width) or (channels, height, width), of floating-point numbers


class Shift(eqx.Module):
    """A shift by whole pixels, uniform in {−reach, …, reach}²; zeros come in, or the other side (`wrap`).

    >>> image = jnp.arange(9.0).reshape(3, 3)
    >>> moved = Shift(1, wrap=True)(jax.random.key(0), image)
    >>> sorted(moved.ravel().tolist()) == image.ravel().tolist()
    True
    """

    reach: int
    wrap: bool

    def __init__(self, reach: int, *, wrap: bool = False):
        require_scale("Shift", reach=reach)
        self.reach, self.wrap = reach, wrap

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Shift", image)
        sides = image.shape[-2:]
        if self.wrap:
            by = jax.random.randint(key, (2,), -self.reach, self.reach + 1)
            return jnp.roll(image, by, axis=(-2, -1))
        return _cropped(key, image, sides, self.reach)


class Crop(eqx.Module):
    """A part of this size from a random place, after a border of zeros of width `padding` was put around the image.

    Crop(32, padding=4) is the usual augmentation of CIFAR-10 (He et al. 2016): the size stays, the place varies.

    >>> Crop(3, padding=1)(jax.random.key(0), jnp.ones((2, 4, 4))).shape
    (2, 3, 3)
    >>> Crop(7, padding=1)(jax.random.key(0), jnp.ones((4, 4)))
    Traceback (most recent call last):
    ValueError: Crop got size (7, 7) and an image of 4 x 4 with padding 1; give a size of at most 6 x 6.
    """

    size: tuple[int, int]
    padding: int

    def __init__(self, size: int | tuple[int, int], *, padding: int = 0):
        self.size = (size, size) if isinstance(size, int) else size
        self.padding = padding
        require_scale("Crop", padding=padding)
        if len(self.size) != 2 or min(self.size) < 1:
            raise ValueError(f"Crop got size {size}; give the height and width of the part, at least 1 each.")

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Crop", image)
        height, width = (side + 2 * self.padding for side in image.shape[-2:])
        if self.size[0] > height or self.size[1] > width:
            seen = " x ".join(map(str, image.shape[-2:]))
            raise ValueError(
                f"Crop got size {self.size} and an image of {seen} with padding {self.padding}; "
                f"give a size of at most {height} x {width}."
            )
        return _cropped(key, image, self.size, self.padding)


class Flip(eqx.Module):
    """The mirror image with this probability: "left-right" about the vertical axis, "up-down" about the horizontal one.

    >>> Flip("left-right", 1.0)(jax.random.key(0), jnp.array([[1.0, 2.0]])).tolist()
    [[2.0, 1.0]]
    """

    way: str
    probability: float

    def __init__(self, way: str = "left-right", probability: float = 0.5):
        if way not in ("left-right", "up-down"):
            raise ValueError(f'Flip got {way!r}; choose "left-right" or "up-down".')
        require_probability("Flip", probability=probability)
        self.way, self.probability = way, probability

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Flip", image)
        mirrored = jnp.flip(image, -1 if self.way == "left-right" else -2)
        return jnp.where(jax.random.bernoulli(key, self.probability), mirrored, image)


class Cutout(eqx.Module):
    """A square of so many pixels a side at a random place inside the image is set to `fill` (DeVries, Taylor 2017).

    >>> float(Cutout(2)(jax.random.key(0), jnp.ones((4, 4))).sum())
    12.0
    """

    size: int
    fill: float

    def __init__(self, size: int, fill: float = 0.0):
        require_scale("Cutout", size=size)
        self.size, self.fill = size, fill

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Cutout", image)
        height, width = image.shape[-2:]
        if self.size > min(height, width):
            raise ValueError(f"Cutout got size {self.size} and an image of {height} x {width}; give a smaller square.")
        down, right = _place(key, height - self.size, width - self.size)
        rows, columns = jnp.arange(height), jnp.arange(width)
        hidden = ((rows >= down) & (rows < down + self.size))[:, None] & (
            (columns >= right) & (columns < right + self.size)
        )
        return jnp.where(hidden, jnp.asarray(self.fill, image.dtype), image)


def require_image(where: str, image: Array) -> None:
    """ValueError for what is no image of floating-point numbers (..., height, width)."""
    if image.ndim < 2:
        raise ValueError(
            f"{where} got an image of shape {image.shape}; give (height, width) or (channels, height, width)."
        )
    if not jnp.issubdtype(image.dtype, jnp.floating):
        raise ValueError(
            f"{where} got an image of type {image.dtype}; make it floating-point first, such as image / 255."
        )


def _cropped(key: PRNGKeyArray, image: Array, size: tuple[int, ...], padding: int) -> Array:
    around = [(0, 0)] * (image.ndim - 2) + [(padding, padding)] * 2
    padded = jnp.pad(image, around)
    down, right = _place(key, padded.shape[-2] - size[0], padded.shape[-1] - size[1])
    start = (0,) * (image.ndim - 2) + (down, right)
    return jax.lax.dynamic_slice(padded, start, (*image.shape[:-2], *size))


def _place(key: PRNGKeyArray, down: int, right: int) -> Array:
    """A place (row, column), uniform with rows 0 to `down` and columns 0 to `right`."""
    return jax.random.randint(key, (2,), 0, jnp.array([down + 1, right + 1]))
