"""The maximum or mean over windows of chosen axes, with derivatives that are fast on CPUs."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.differentiation.programs.patch_convolutions import LARGEST_WINDOW, window_places

Kind = Literal["max", "mean"]


def reduce_windows(
    x: Float[Array, "..."], axes: Sequence[int], kind: str, window: int, stride: int, *, dilation: int = 1, pad: int = 0
) -> Float[Array, "..."]:
    """max or mean of x[s i + d t - pad] over the places 0 ≤ t < r of a window, on each of the axes.

    The border counts as -∞ for a maximum and as 0 for a mean. Windows side by side are axes of a reshaped array and
    others strided slices: on CPUs the gradients of both are many times faster than that of a window reduction, which
    remains for windows of more than 64 places that overlap. Equal maxima share the gradient; there, the first gets it.

    >>> reduce_windows(jnp.array([1.0, 3.0, 2.0, 8.0, 9.0]), (0,), "max", 2, 2).tolist()
    [3.0, 8.0]
    """
    axes = [axis % x.ndim for axis in axes]
    empty = -np.inf if kind == "max" else 0.0
    if pad:
        x = jnp.pad(x, [(pad, pad) if axis in axes else (0, 0) for axis in range(x.ndim)], constant_values=empty)
    if window == stride and dilation == 1:
        kept = [n // stride * stride if axis in axes else n for axis, n in enumerate(x.shape)]
        split = [m for axis, n in enumerate(kept) for m in ((n // stride, stride) if axis in axes else (n,))]
        inner = tuple(axis + 1 + sum(other < axis for other in axes) for axis in axes)
        return reduce_axes(x[tuple(slice(0, n) for n in kept)].reshape(split), kind, inner)
    sizes = [(window, stride, dilation) if axis in axes else (1, 1, 1) for axis in range(x.ndim)]
    if prod(sides := [size for size, _, _ in sizes]) <= LARGEST_WINDOW:
        places = window_places(x.shape, *zip(*sizes, strict=True))
        return reduce_axes(jnp.stack([x[place] for place in places]), kind, (0,))
    start = np.asarray(empty, x.dtype)[()]  # a constant: only so does JAX see a maximum or a sum to differentiate
    combine = jax.lax.max if kind == "max" else jax.lax.add
    strides, wide = ([size[k] for size in sizes] for k in (1, 2))
    found = jax.lax.reduce_window(x, start, combine, sides, strides, "VALID", window_dilation=wide)
    return found if kind == "max" else found / prod(sides)


def reduce_axes(x: Float[Array, "..."], kind: str, axes: tuple[int, ...]) -> Float[Array, "..."]:
    """The maximum or mean over whole axes; equal maxima share the gradient."""
    return _maximum(x, axes) if kind == "max" else jnp.mean(x, axis=axes)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _maximum(x: Array, axes: tuple[int, ...]) -> Array:
    return jax.lax.reduce_max(x, axes)


@_maximum.defjvp
def _maximum_tangent(axes: tuple[int, ...], primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Equal maxima share the slope, as in JAX's own, which keeps their mask as numbers and is twice as slow."""
    (x,), (dx,) = primals, tangents
    y = jnp.max(x, axis=axes, keepdims=True)
    shares = jnp.sum(x == y, axis=axes, dtype=x.dtype)
    return jnp.squeeze(y, axes), jnp.sum(jnp.where(x == y, dx, 0), axis=axes) / shares
