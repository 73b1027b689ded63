"""Pooling over windows (largest value, mean), adaptive pooling, and resizing of images."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from .convolution import Sizes, sizes


def _windows(
    x: Array, axes: int, kernel: Sizes, stride: Sizes | None, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride, padding before, padding after (with what rounding up needs) and dilation, for each axis."""
    k, d, p = sizes(kernel, axes), sizes(dilation, axes), sizes(padding, axes)
    s = k if stride is None or stride == () or stride == [] else sizes(stride, axes)
    after = []
    for n, side in enumerate(x.shape[-axes:]):
        reach = d[n] * (k[n] - 1) + 1
        room = side + 2 * p[n] - reach
        count = (-(-room // s[n]) if ceil_mode else room // s[n]) + 1
        if ceil_mode and (count - 1) * s[n] >= side + p[n]:  # a window that begins in the padding is left out
            count -= 1
        after.append(max(p[n], (count - 1) * s[n] + reach - side - p[n]))
    return k, s, p, tuple(after), d


def _reduce(x: Array, start: Any, function: Callable, k: Any, s: Any, p: Any, after: Any) -> Array:
    front = (1,) * (x.ndim - len(k))
    edges = [(0, 0)] * len(front) + list(zip(p, after, strict=True))
    return lax.reduce_window(x, start, function, front + tuple(k), front + tuple(s), edges)


def _max_pool(axes: int) -> Callable:
    def operation(
        x: Array, kernel: Sizes, stride: Any = None, padding: Sizes = 0, dilation: Sizes = 1, ceil_mode: bool = False
    ) -> Array:
        lowest = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
        k, s, p, after, d = _windows(x, axes, kernel, stride, padding, dilation, ceil_mode)
        if any(step > 1 for step in d):
            return _max_of_taps(x, lowest, k, s, p, after, d)
        return _reduce(x, lowest, lax.max, k, s, p, after)

    return operation


def _max_of_taps(x: Array, lowest: Any, k: Any, s: Any, p: Any, after: Any, d: Any) -> Array:
    """The largest value of windows with holes, tap by tap: XLA's own has no derivative."""
    front = x.ndim - len(k)
    edges = [(0, 0, 0)] * front + [(before, behind, 0) for before, behind in zip(p, after, strict=True)]
    padded = lax.pad(x, jnp.asarray(lowest, x.dtype), edges)
    counts = [
        (side - step * (size - 1) - 1) // stride + 1
        for side, size, stride, step in zip(padded.shape[front:], k, s, d, strict=True)
    ]
    taps = []
    for place in np.ndindex(*k):
        starts = [at * step for at, step in zip(place, d, strict=True)]
        stops = [start + (n - 1) * stride + 1 for start, n, stride in zip(starts, counts, s, strict=True)]
        ones = [1] * front
        taps.append(lax.slice(padded, [0] * front + starts, [*x.shape[:front], *stops], ones + list(s)))
    return functools.reduce(jnp.maximum, taps)


def _mean_pool(axes: int) -> Callable:
    def operation(
        x: Array,
        kernel: Sizes,
        stride: Any = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Array:
        k, s, p, after, _ = _windows(x, axes, kernel, stride, padding, 1, ceil_mode)
        total = _reduce(x, 0.0, lax.add, k, s, p, after)
        if divisor_override is not None:
            return total / divisor_override
        if not any(after) or (count_include_pad and after == p):
            return total / math.prod(k)
        counts = [
            _counted(side, total.shape[n - axes], k[n], s[n], p[n], count_include_pad)
            for n, side in enumerate(x.shape[-axes:])
        ]
        return total / jnp.asarray(_outer(counts), x.dtype)

    return operation


def _counted(side: int, count: int, kernel: int, stride: int, padding: int, include: bool) -> np.ndarray:
    """Entries of each window along one axis, padding included or not, but not what lies beyond it."""
    starts = np.arange(count) * stride - padding
    low, high = (-padding, side + padding) if include else (0, side)
    return np.minimum(starts + kernel, high) - np.maximum(starts, low)


def _outer(factors: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(math.prod(np.ix_(*factors), start=np.ones(())))


def _parts(side: int, count: int) -> list[tuple[int, int]]:
    """Where the windows of adaptive pooling begin and end."""
    return [(n * side // count, -(-(n + 1) * side // count)) for n in range(count)]


def _targets(x: Array, output_size: Sizes, axes: int) -> tuple[int, ...]:
    wanted = sizes(output_size, axes)
    return tuple(side if w is None else w for w, side in zip(wanted, x.shape[-axes:], strict=True))


def _adaptive_mean(axes: int) -> Callable:
    def operation(x: Array, output_size: Sizes) -> Array:
        wanted = _targets(x, output_size, axes)
        space = x.shape[-axes:]
        if all(w == 1 for w in wanted):
            return jnp.mean(x, tuple(range(x.ndim - axes, x.ndim)), keepdims=True)
        if all(side % w == 0 for side, w in zip(space, wanted, strict=True)):
            k = tuple(side // w for side, w in zip(space, wanted, strict=True))
            return _reduce(x, 0.0, lax.add, k, k, (0,) * axes, (0,) * axes) / math.prod(k)
        for n, (side, w) in enumerate(zip(space, wanted, strict=True)):
            matrix = np.zeros((w, side))
            for row, (start, stop) in enumerate(_parts(side, w)):
                matrix[row, start:stop] = 1 / (stop - start)
            x = along_axis(x, matrix, x.ndim - axes + n)
        return x

    return operation


def _adaptive_max(axes: int) -> Callable:
    """Values alone; whoever asks for the indices gets no second part."""

    def operation(x: Array, output_size: Sizes) -> tuple[Array]:
        for n, w in enumerate(_targets(x, output_size, axes)):
            axis = x.ndim - axes + n
            pieces = [
                jnp.max(lax.slice_in_dim(x, start, stop, axis=axis), axis, keepdims=True)
                for start, stop in _parts(x.shape[axis], w)
            ]
            x = jnp.concatenate(pieces, axis)
        return (x,)

    return operation


def along_axis(x: Array, matrix: np.ndarray, axis: int) -> Array:
    """Every line of x along an axis, multiplied by a matrix."""
    out = lax.dot_general(x, jnp.asarray(matrix, x.dtype), (((axis,), (1,)), ((), ())))
    return jnp.moveaxis(out, -1, axis)


OPERATIONS: dict[str, Callable] = {
    **{f"max_pool{n}d": _max_pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": _mean_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": _adaptive_mean(n) for n in (1, 2, 3)},
    **{f"_adaptive_avg_pool{n}d": _adaptive_mean(n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d": _adaptive_max(n) for n in (1, 2, 3)},
    # a network that reads the indices too is refused by name when it is opened
    **{f"max_pool{n}d_with_indices": (lambda pool: lambda *given: (pool(*given),))(_max_pool(n)) for n in (1, 2, 3)},
}
