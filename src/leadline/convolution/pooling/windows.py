"""Maximum, mean and p-norm over windows of the last axes, of any window, stride and padding; blurred subsampling."""

from math import comb
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Num

from .window_reductions import Kind, reduce_windows

Padding = int | Literal["wrap"]
Pooled = Num[Array | np.ndarray, "..."]


def max_pool(
    x: Pooled, window: int, stride: int | None = None, *, padding: Padding = 0, sides: int = 2
) -> Float[Array, "..."]:
    """out[i, j] = max_{0 ≤ k, l < r} x[s i + k, s j + l] over the last `sides` axes; s = r where no stride is given.

    `padding` is a number of positions on both ends that never are the maximum, or "wrap": windows then go around the
    end, and every s-th position has one. Where several entries of a window are the largest they share the gradient, in
    the equal parts of `max_pool_gradient`; overlapping windows of more than 64 entries give it to the first.

    >>> max_pool(jnp.arange(16.0).reshape(4, 4), 2).tolist()
    [[5.0, 7.0], [13.0, 15.0]]
    >>> max_pool(jnp.array([3.0, 1.0, 2.0]), 2, 1, padding="wrap", sides=1).tolist()
    [3.0, 2.0, 3.0]
    """
    return _reduced(jnp.asarray(x), "max", window, stride, padding, sides)


def average_pool(
    x: Pooled, window: int, stride: int | None = None, *, padding: Padding = 0, sides: int = 2
) -> Float[Array, "..."]:
    """The mean over windows: a convolution with r⁻² everywhere, of which every s-th output is kept. Padding is zeros,
    which count, or "wrap".

    >>> average_pool(jnp.arange(16.0).reshape(4, 4), 2).tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    """
    return _reduced(jnp.asarray(x), "mean", window, stride, padding, sides)


def norm_pool(
    x: Pooled, window: int, stride: int | None = None, *, order: float = 2.0, padding: Padding = 0, sides: int = 2
) -> Float[Array, "..."]:
    """(mean of |x|^p over the window)^(1/p): the mean of |x| for p = 1, on the way to the maximum of |x| for p → ∞.

    >>> norm_pool(jnp.array([[3.0, 4.0], [0.0, 0.0]]), 2).tolist()
    [[2.5]]
    """
    if not order >= 1:
        raise ValueError(f"norm_pool got order {order}; give 1 or more.")
    size = jnp.abs(jnp.asarray(x))
    # powers of shares of the largest do not overflow, whatever the order
    scale = jnp.max(size, axis=tuple(range(-sides, 0)), keepdims=True)
    scale = jnp.where(scale > 0, scale, 1)
    mean = average_pool((size / scale) ** order, window, stride, padding=padding, sides=sides)
    return scale * mean ** (1 / order)


def blur_pool(
    x: Pooled, stride: int = 2, *, taps: int = 3, padding: Literal["wrap", "edge"] = "wrap", sides: int = 2
) -> Float[Array, "..."]:
    """Blur with the binomial kernel of `taps` taps, then keep every s-th position (Zhang 2019): less of what is above
    the new Nyquist frequency π/s comes back as something else. The kernel's gain at frequency ω is cos(ω/2)^(taps - 1).

    >>> blur_pool(jnp.array([1.0, -1.0, 1.0, -1.0]), sides=1).tolist()
    [0.0, 0.0]
    """
    x = jnp.asarray(x)
    if taps < 1 or taps % 2 == 0:
        raise ValueError(f"blur_pool got {taps} taps; give an odd number, so that the blur has a centre.")
    if stride < 1:
        raise ValueError(f"blur_pool got stride {stride}; give 1 or more.")
    _check_axes(x, sides)
    for axis in range(x.ndim - sides, x.ndim):
        wide = [(0, 0)] * x.ndim
        wide[axis] = (taps // 2, taps // 2)
        padded, side = jnp.pad(x, wide, mode=padding), x.shape[axis]
        parts = [lax.slice_in_dim(padded, k, k + side, stride, axis) for k in range(taps)]
        x = jnp.asarray(sum(weight * part for weight, part in zip(binomial_taps(taps), parts, strict=True)))
    return x


def binomial_taps(taps: int) -> list[float]:
    """The binomial coefficients of taps - 1 over 2^(taps - 1).

    >>> binomial_taps(3)
    [0.25, 0.5, 0.25]
    """
    return [comb(taps - 1, k) / 2 ** (taps - 1) for k in range(taps)]


def pooled_side(side: int, window: int, stride: int, padding: Padding = 0) -> int:
    """How many windows an axis has: ⌊(n + 2 pad - r)/s⌋ + 1, or n/s where they go around its end.

    >>> pooled_side(28, 2, 2), pooled_side(6, 3, 2), pooled_side(6, 3, 1, "wrap")
    (14, 2, 6)
    """
    if window < 1 or stride < 1:
        raise ValueError(f"Pooling got a window of {window} and stride {stride}; give 1 or more.")
    if padding == "wrap":
        if side % stride or window > side:
            raise ValueError(
                f"Windows of {window} every {stride} positions do not go around {side}; give a stride that divides it "
                "and a window that fits."
            )
        return side // stride
    if not 0 <= padding <= window // 2:
        raise ValueError(f"Pooling got padding {padding} for a window of {window}; give 0 to {window // 2}, or 'wrap'.")
    if side + 2 * padding < window:
        raise ValueError(f"A window of {window} does not fit {side} positions with padding {padding}; give a smaller.")
    return (side + 2 * padding - window) // stride + 1


def _reduced(
    x: Array, kind: Kind, window: int, stride: int | None, padding: Padding, sides: int
) -> Float[Array, "..."]:
    stride = window if stride is None else stride
    _check_axes(x, sides)
    axes = range(x.ndim - sides, x.ndim)
    for axis in axes:
        pooled_side(x.shape[axis], window, stride, padding)
    if padding != "wrap":
        return reduce_windows(x, axes, kind, window, stride, pad=padding)
    around = [(0, window - stride) if window > stride else (0, 0)] * sides
    x = jnp.pad(x, [(0, 0)] * (x.ndim - sides) + around, mode="wrap")
    return reduce_windows(x, axes, kind, window, stride)


def _check_axes(x: Array, sides: int) -> None:
    if not 1 <= sides <= x.ndim:
        raise ValueError(f"Pooling over {sides} axes got an array of shape {x.shape}; give so many axes of positions.")
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"Pooling got {x.dtype} numbers; give floating-point ones.")
