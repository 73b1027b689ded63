"""Transformations of images by name: shifts, flips, turns, rotations, crops, occlusions; what interpolation costs."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Images = Float[np.ndarray, "_ _ _ ..."]  # (n, height, width, ...)


class Transformation(NamedTuple):
    """A named map of batches of images (n, height, width, ...); `exact` if it only moves pixels, none interpolated."""

    name: str
    apply: Callable[[Images], Images]
    exact: bool = True

    def __call__(self, images: Images) -> Images:
        return self.apply(np.asarray(images))


def compose(second: Transformation, first: Transformation) -> Transformation:
    """images ↦ second(first(images))."""
    return Transformation(f"{second.name} after {first.name}", lambda x: second(first(x)), second.exact and first.exact)


def shift_images(images: Images, down: int, right: int, *, wrap: bool = True) -> Images:
    """Every image moved by whole pixels: what leaves on one side comes back on the other (`wrap`), or zeros come in.

    >>> shift_images(np.arange(4.0).reshape(1, 2, 2), 0, 1)[0].tolist()
    [[1.0, 0.0], [3.0, 2.0]]
    >>> shift_images(np.arange(4.0).reshape(1, 2, 2), 0, 1, wrap=False)[0].tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    moved = np.roll(images, (down, right), axis=(1, 2))
    if wrap:
        return moved
    moved = moved.copy()
    for axis, by in ((1, down), (2, right)):
        side = images.shape[axis]
        gone = slice(0, min(by, side)) if by > 0 else slice(max(side + by, 0), side)
        if by:
            moved[(slice(None),) * axis + (gone,)] = 0
    return moved


def rotate_images(images: Images, degrees: float, *, order: int = 1) -> Images:
    """Rotated anticlockwise about the centre by spline interpolation of `order`, zeros outside (SciPy)."""
    from scipy.ndimage import rotate

    return rotate(images, degrees, axes=(2, 1), reshape=False, order=order).astype(images.dtype)


def circular_shifts(shifts: Iterable[tuple[int, int]]) -> tuple[Transformation, ...]:
    """Shifts (down, right) that wrap around.

    >>> [t.name for t in circular_shifts([(0, 0), (0, 1), (-2, 0)])]
    ['shift (0, 0)', 'shift (0, 1)', 'shift (-2, 0)']
    """
    return tuple(Transformation(f"shift {s}", lambda x, s=s: shift_images(x, *s)) for s in shifts)


def zero_shifts(shifts: Iterable[tuple[int, int]]) -> tuple[Transformation, ...]:
    """Shifts (down, right) that let zeros in."""
    return tuple(Transformation(f"zero shift {s}", lambda x, s=s: shift_images(x, *s, wrap=False)) for s in shifts)


def flips() -> tuple[Transformation, ...]:
    """The identity, the left-right and the up-down mirror, and both."""
    return (
        Transformation("identity", lambda x: x),
        Transformation("flip left-right", lambda x: x[:, :, ::-1]),
        Transformation("flip up-down", lambda x: x[:, ::-1]),
        Transformation("flip both", lambda x: x[:, ::-1, ::-1]),
    )


def quarter_turns() -> tuple[Transformation, ...]:
    """Rotations by 0, 90, 180 and 270 degrees anticlockwise; square images only."""
    return tuple(Transformation(f"turn {90 * k}°", lambda x, k=k: _turned(x, k)) for k in range(4))


def _turned(images: Images, times: int) -> Images:
    if times % 2 and images.shape[1] != images.shape[2]:
        raise ValueError(
            f"A quarter turn of {images.shape[1]} x {images.shape[2]} images has another shape; give squares."
        )
    return np.rot90(images, times, axes=(1, 2))


def rotations(degrees: Sequence[float] | Float[np.ndarray, " k"], *, order: int = 1) -> tuple[Transformation, ...]:
    """Rotations about the centre by interpolation; multiples of 90 degrees of square images move pixels only."""
    return tuple(
        Transformation(f"rotate {d:g}°", lambda x, d=d: _rotated(x, d, order), exact=d % 90 == 0) for d in degrees
    )


def _rotated(images: Images, degrees: float, order: int) -> Images:
    if degrees % 90 == 0 and images.shape[1] == images.shape[2]:
        return _turned(images, round(degrees / 90))
    return rotate_images(images, degrees, order=order)


def occlusions(height: int, width: int, size: int) -> tuple[Transformation, ...]:
    """The identity, and a square of zeros in each of the four corners."""

    def hide(x: Images, i: int, j: int) -> Images:
        x = x.copy()
        x[:, i : i + size, j : j + size] = 0
        return x

    corners = [(i, j) for i in (0, height - size) for j in (0, width - size)]
    hidden = (Transformation(f"occlude {c}", lambda x, c=c: hide(x, *c)) for c in corners)
    return Transformation("identity", lambda x: x), *hidden


def central_crops(margins: Iterable[int]) -> tuple[Transformation, ...]:
    """Zeros in a frame of so many pixels: what a crop to the centre keeps, at its old place."""

    def crop(x: Images, m: int) -> Images:
        kept = np.zeros_like(x)
        inner = (slice(None), slice(m, x.shape[1] - m), slice(m, x.shape[2] - m))
        kept[inner] = x[inner]
        return kept

    return tuple(Transformation(f"crop {m}", lambda x, m=m: crop(x, m)) for m in margins)


def interpolation_floor(images: Images, degrees: float, *, order: int = 1) -> float:
    """‖R₋ₐ Rₐ X - X‖/‖X‖: what two interpolations change where nothing should; 0 for quarter turns of squares.

    A defect measured under the rotation cannot be told from the error of the rotation itself below this size.

    >>> interpolation_floor(np.eye(8)[None], 90.0)
    0.0
    """
    there, back = rotations([degrees, -degrees], order=order)
    images = np.asarray(images)
    return float(np.linalg.norm(back(there(images)) - images) / np.linalg.norm(images))
