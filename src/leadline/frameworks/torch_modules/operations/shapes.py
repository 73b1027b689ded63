"""Views, moves of axes, joining and cutting: what changes the shape of an array and none of its numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


def _same(x: Any, *_: Any) -> Any:
    return x


def _squeeze(x: Array, dims: Sequence[int] | int) -> Array:
    axes = (dims,) if isinstance(dims, int) else dims
    return lax.squeeze(x, [d for d in axes if x.shape[d] == 1])


def _expand(x: Array, size: Sequence[int], implicit: bool = False) -> Array:
    own = (1,) * (len(size) - x.ndim) + x.shape
    return jnp.broadcast_to(x, [o if s == -1 else s for s, o in zip(size, own, strict=True)])


def _flatten(x: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    first, last = start_dim % max(1, x.ndim), end_dim % max(1, x.ndim)
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


def _unflatten(x: Array, dim: int, sizes: Sequence[int]) -> Array:
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def _slice(x: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    start, stop, step = slice(start, end, step).indices(x.shape[dim])
    return lax.slice_in_dim(x, start, max(start, stop), step, dim)


def _select(x: Array, dim: int, index: int) -> Array:
    return lax.index_in_dim(x, index, dim, keepdims=False)


def _split(x: Array, size: int | Sequence[int], dim: int = 0) -> tuple[Array, ...]:
    """Parts of this size, the last one smaller, or of these sizes."""
    length = x.shape[dim]
    if isinstance(size, int):
        size = [min(size, length - start) for start in range(0, length, size)]
    starts = [sum(size[:n]) for n in range(len(size))]
    return tuple(lax.slice_in_dim(x, start, start + s, axis=dim) for start, s in zip(starts, size, strict=True))


def _chunk(x: Array, chunks: int, dim: int = 0) -> tuple[Array, ...]:
    return _split(x, max(1, -(-x.shape[dim] // chunks)), dim)


def _unbind(x: Array, dim: int = 0) -> tuple[Array, ...]:
    return tuple(_select(x, dim, index) for index in range(x.shape[dim]))


def _joined(arrays: Sequence[Array], dim: int = 0) -> Array:
    kept = [a for a in arrays if a.shape != (0,)]  # PyTorch passes over empty vectors
    return jnp.concatenate(kept or arrays, axis=dim)


def _roll(x: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    return jnp.roll(x, tuple(shifts), tuple(dims)) if dims else jnp.roll(x, shifts[0])


def _constant_pad(x: Array, pad: Sequence[int], value: Any = 0) -> Array:
    """`pad` holds (before, after) of the last axis first; negative numbers cut."""
    edges = [(0, 0, 0)] * x.ndim
    for number in range(len(pad) // 2):
        edges[-1 - number] = (pad[2 * number], pad[2 * number + 1], 0)
    return lax.pad(x, jnp.asarray(0 if value is None else value, x.dtype), edges)


def _pad(x: Array, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Array:
    if mode == "constant":
        return _constant_pad(x, pad, value)
    edges = [(0, 0)] * (x.ndim - len(pad) // 2)
    edges += [(pad[n], pad[n + 1]) for n in range(len(pad) - 2, -1, -2)]
    return jnp.pad(x, edges, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def _unfold(x: Array, dimension: int, size: int, step: int) -> Array:
    """Windows along an axis, each as a new last axis."""
    axis = dimension % x.ndim
    starts = jnp.arange((x.shape[axis] - size) // step + 1) * step
    windows = jnp.take(x, starts[:, None] + jnp.arange(size), axis=axis, mode="clip")
    return jnp.moveaxis(windows, axis + 1, -1)


def _pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    *rows, channels, height, width = x.shape
    r = upscale_factor
    parts = x.reshape(*rows, channels // r**2, r, r, height, width)
    n = len(rows)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parts.transpose(order).reshape(*rows, channels // r**2, height * r, width * r)


def _pixel_unshuffle(x: Array, downscale_factor: int) -> Array:
    *rows, channels, height, width = x.shape
    r = downscale_factor
    parts = x.reshape(*rows, channels, height // r, r, width // r, r)
    n = len(rows)
    return parts.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(
        *rows, channels * r**2, height // r, width // r
    )


def _channel_shuffle(x: Array, groups: int) -> Array:
    return x.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


_REFLECTIONS = {f"reflection_pad{k}d": lambda x, padding: _pad(x, padding, "reflect") for k in (1, 2, 3)}
_REPLICATIONS = {f"replication_pad{k}d": lambda x, padding: _pad(x, padding, "replicate") for k in (1, 2, 3)}

OPERATIONS: dict[str, Callable] = {
    **dict.fromkeys(("view.default", "reshape", "_unsafe_view", "view_copy.default"), lambda x, s: x.reshape(tuple(s))),
    **dict.fromkeys(("clone", "alias", "contiguous", "lift_fresh_copy", "lift_fresh", "detach_"), _same),
    **_REFLECTIONS,
    **_REPLICATIONS,
    "dropout": _same,  # a random one is refused when the network is opened
    "detach": lax.stop_gradient,
    "permute": lambda x, dims: x.transpose(tuple(dims)),
    "transpose.int": jnp.swapaxes,
    "t": lambda x: x.T,
    "movedim.int": jnp.moveaxis,
    "unsqueeze": lambda x, dim: lax.expand_dims(x, [dim if dim >= 0 else dim + x.ndim + 1]),
    "squeeze.dims": _squeeze,
    "expand": _expand,
    "expand_as": lambda x, other: jnp.broadcast_to(x, other.shape),
    "flatten.using_ints": _flatten,
    "unflatten.int": _unflatten,
    "repeat": lambda x, repeats: jnp.tile(x, tuple(repeats)),
    "repeat_interleave.self_int": lambda x, repeats, dim=None: jnp.repeat(x, repeats, axis=dim),
    "slice.Tensor": _slice,
    "narrow": lambda x, dim, start, length: _slice(x, dim, start, start + length),
    "select.int": _select,
    "split.Tensor": _split,
    "split_with_sizes": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "cat": _joined,
    "stack": lambda arrays, dim=0: jnp.stack(arrays, axis=dim),
    "flip": lambda x, dims: lax.rev(x, [d % x.ndim for d in dims]),
    "roll": _roll,
    "constant_pad_nd": _constant_pad,
    "pad": _pad,
    "unfold": _unfold,
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: jnp.diagonal(x, offset, dim1, dim2),
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "channel_shuffle": _channel_shuffle,
    "native_channel_shuffle": _channel_shuffle,
}
