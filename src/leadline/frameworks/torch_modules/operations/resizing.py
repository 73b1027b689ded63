"""Interpolation of signals, images and volumes: nearest, linear and cubic, axis by axis."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .pooling import along_axis


def _sides(x: Array, output_size: Any, scales: Sequence[float] | None, axes: int) -> tuple[int, ...]:
    if output_size is not None:
        return tuple(output_size)
    assert scales is not None  # one of the two is given
    return tuple(math.floor(side * scale) for side, scale in zip(x.shape[-axes:], scales, strict=True))


def _nearest(axes: int, exact: bool) -> Callable:
    def operation(x: Array, output_size: Any, scale_factors: Sequence[float] | None = None) -> Array:
        for n, wanted in enumerate(_sides(x, output_size, scale_factors, axes)):
            axis = x.ndim - axes + n
            side = x.shape[axis]
            ratio = side / wanted if scale_factors is None else 1 / scale_factors[n]
            where = np.floor((np.arange(wanted) + (0.5 if exact else 0.0)) * ratio).astype(int)
            x = jnp.take(x, np.clip(where, 0, side - 1), axis=axis, mode="clip")
        return x

    return operation


def _interpolated(axes: int, taps: Callable[[np.ndarray], list[np.ndarray]], reach: int) -> Callable:
    """Weights `taps(t)` of the neighbours 1-reach..reach of a place whose fractional part is t."""

    def operation(
        x: Array, output_size: Any, align_corners: bool, scale_factors: Sequence[float] | None = None
    ) -> Array:
        for n, wanted in enumerate(_sides(x, output_size, scale_factors, axes)):
            axis = x.ndim - axes + n
            side = x.shape[axis]
            if align_corners:
                place = np.arange(wanted) * ((side - 1) / (wanted - 1) if wanted > 1 else 0.0)
            else:
                ratio = side / wanted if scale_factors is None else 1 / scale_factors[n]
                place = (np.arange(wanted) + 0.5) * ratio - 0.5
                place = np.maximum(place, 0.0) if reach == 1 else place
            lower = np.floor(place)
            matrix = np.zeros((wanted, side))
            for tap, weights in enumerate(taps(place - lower)):
                column = np.clip(lower.astype(int) + tap + 1 - reach, 0, side - 1)
                np.add.at(matrix, (np.arange(wanted), column), weights)
            x = along_axis(x, matrix, axis)
        return x

    return operation


def _linear_taps(t: np.ndarray) -> list[np.ndarray]:
    return [1 - t, t]


def _cubic_taps(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Keys' cubic convolution."""

    def near(u: np.ndarray) -> np.ndarray:
        return ((a + 2) * u - (a + 3)) * u**2 + 1

    def far(u: np.ndarray) -> np.ndarray:
        return ((a * u - 5 * a) * u + 8 * a) * u - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


OPERATIONS: dict[str, Callable] = {
    **{f"upsample_nearest{n}d.vec": _nearest(n, False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d.vec": _nearest(n, True) for n in (1, 2, 3)},
    "upsample_linear1d.vec": _interpolated(1, _linear_taps, 1),
    "upsample_bilinear2d.vec": _interpolated(2, _linear_taps, 1),
    "upsample_trilinear3d.vec": _interpolated(3, _linear_taps, 1),
    "upsample_bicubic2d.vec": _interpolated(2, _cubic_taps, 2),
}
