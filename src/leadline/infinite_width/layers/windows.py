"""Means of covariances over a sliding window, in which both positions move together."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

#: "SAME", "VALID", "CIRCULAR", or the positions added before and after each dimension.
Padding = str | tuple[tuple[int, int], ...]


def pads(
    positions: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...], padding: Padding
) -> list[tuple[int, int]]:
    """Positions added before and after each dimension."""
    if isinstance(padding, tuple):
        return list(padding)
    kind = "VALID" if padding == "VALID" else "SAME"
    return [(before, after) for before, after in jax.lax.padtype_to_pads(positions, window, strides, kind)]


def window_positions(
    positions: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...], padding: Padding
) -> tuple[int, ...]:
    """The shape of positions after a sliding window."""
    added = pads(positions, window, strides, padding)
    left = tuple((p + sum(a) - w) // s + 1 for p, a, w, s in zip(positions, added, window, strides, strict=True))
    if min(left) < 1:
        raise ValueError(f"A window of {window} leaves nothing of {positions} positions; take a smaller one.")
    return left


def mean_over_windows(
    k: Array, window: tuple[int, ...], strides: tuple[int, ...], padding: Padding, full: bool
) -> Array:
    """mean_δ k[s + δ] of covariances at equal positions, k of shape (*positions, ...), or, if they are kept between
    all positions, mean_δ k[s + δ, t + δ] with k (*positions, *positions, ...). One dimension after the other."""

    def total(k: Array) -> Array:
        for i, (w, step) in enumerate(zip(window, strides, strict=True)):
            here = padding[i : i + 1] if isinstance(padding, tuple) else padding
            (added,) = pads((k.shape[i],), (w,), (step,), here)
            k = _sum_along(k, (i, i + len(window)) if full else (i,), w, step, added, padding == "CIRCULAR")
        return k

    return apart(total, k) / math.prod(window)


def _sum_along(k: Array, axes: tuple[int, ...], w: int, step: int, added: tuple[int, int], circular: bool) -> Array:
    """Sums of w entries along one axis, or along the diagonal of two."""
    if added != (0, 0):
        width = [added if axis in axes else (0, 0) for axis in range(k.ndim)]
        k = jnp.pad(k, width, mode="wrap" if circular else "constant")
    size = (k.shape[axes[0]] - w) // step + 1
    total = jnp.zeros((), k.dtype)
    for shift in range(w):
        part = k
        for axis in axes:
            part = jax.lax.slice_in_dim(part, shift, shift + (size - 1) * step + 1, step, axis)
        total = total + part
    return total


def pool_both(k: Array, window: tuple[int, ...], strides: tuple[int, ...], padding: Padding) -> Array:
    """mean_δ mean_ε k[s + δ, t + ε] for k of shape (*positions, *positions, ...): the windows move independently."""
    count = len(window)
    k = mean_over_windows(k, window, strides, padding, False)
    k = jnp.moveaxis(k, tuple(range(count)), tuple(range(count, 2 * count)))
    k = mean_over_windows(k, window, strides, padding, False)
    return jnp.moveaxis(k, tuple(range(count)), tuple(range(count, 2 * count)))


def mean_over_offset_window(k: Array, window: tuple[int, ...], offset: tuple[Array, ...], padding: Padding) -> Array:
    """mean_δ k[s + δ] where k[s] is the covariance of position s with position s + offset, counted around the edges.

    A neighbour counts if neither it nor its partner lies beyond an edge that the step crosses; if the image is
    circular, always.
    """
    around = [((w - 1) // 2, w // 2) for w in window]
    masks = []
    for i, ((before, after), d) in enumerate(zip(around, offset, strict=True)):
        here = jnp.arange(k.shape[i])
        partner, shift = (here + d) % len(here), jnp.arange(-before, after + 1)[:, None]
        inside = (here + shift >= 0) & (here + shift < len(here))
        inside &= (partner + shift >= 0) & (partner + shift < len(here))
        masks.append(inside.astype(k.dtype).reshape(*inside.shape, *(1,) * (k.ndim - i - 1)))  # (shift, position, ...)

    def total(k: Array) -> Array:
        whole = [*around, *[(0, 0)] * (k.ndim - len(window))]
        wide = jnp.pad(k, whole, mode="wrap" if padding == "CIRCULAR" else "constant")
        return _neighbours(wide, k.shape, masks if padding != "CIRCULAR" else None, window, around, 0)

    return apart(total, k) / math.prod(window)


def _neighbours(
    wide: Array,
    shape: tuple[int, ...],
    masks: list[Array] | None,
    window: tuple[int, ...],
    around: list[tuple[int, int]],
    axis: int,
) -> Array:
    """The sum over the window of a padded array, from this axis on."""
    if axis == len(window):
        return wide
    total = jnp.zeros((), wide.dtype)
    for shift in range(window[axis]):
        part = jax.lax.slice_in_dim(wide, shift, shift + shape[axis], axis=axis)
        part = _neighbours(part, shape, masks, window, around, axis + 1)
        total = total + (part if masks is None or shift == around[axis][0] else part * masks[axis][shift])
    return total


def apart(f: Callable[[Array], Array], k: Array) -> Array:
    """f(k), compiled so that k is finished before f reads it.

    XLA would otherwise merge the windows of successive layers into one loop, in which every layer is computed again
    for each neighbour of the next: 9^layers times. It does not look across a condition, and cannot know that this one
    always holds.
    """
    kind = jnp.int64 if k.dtype.itemsize == 8 else jnp.int32 if k.dtype.itemsize == 4 else jnp.int16
    bits = jax.lax.bitcast_convert_type(k[(0,) * k.ndim], kind)
    out = jax.eval_shape(f, k)
    return jax.lax.cond((bits & 1) < 2, f, lambda k: jnp.zeros(out.shape, out.dtype), k)
