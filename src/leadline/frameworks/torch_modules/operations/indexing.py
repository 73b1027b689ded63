"""Reading and writing at places that are given by arrays: embeddings, gather, scatter, masks."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


def _embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """Rows of a table; that of padding gets no gradient, as PyTorch has it."""
    rows = weight[indices]
    if padding_idx < 0:
        return rows
    return jnp.where((indices == padding_idx)[..., None], lax.stop_gradient(rows), rows)


def _places(indices: Sequence[Array | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if index is None else index for index in indices)


def _index_put(x: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    target = x.at[_places(indices)]
    values = values.astype(x.dtype)
    return target.add(values) if accumulate else target.set(values)


def _masked_index(x: Array, mask: Array, indices: Sequence[Array | None], fill: Any) -> Array:
    return jnp.where(mask, x[_places(indices)], jnp.asarray(fill, x.dtype))


def _gather(x: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    return x[_along(index, dim)]


def _along(index: Array, dim: int) -> tuple[Array, ...]:
    """The place of every entry of `index`: its own, but for the axis `dim`, where it says the place."""
    own = [lax.broadcasted_iota(index.dtype, index.shape, axis) for axis in range(index.ndim)]
    own[dim] = index
    return tuple(own)


def _source(index: Array, source: Any, x: Array) -> Array:
    source = jnp.asarray(source, x.dtype)
    return source if source.ndim == 0 else source[tuple(slice(side) for side in index.shape)]


def _scatter(x: Array, dim: int, index: Array, source: Any) -> Array:
    return x.at[_along(index, dim)].set(_source(index, source, x))


def _scatter_add(x: Array, dim: int, index: Array, source: Array) -> Array:
    return x.at[_along(index, dim)].add(_source(index, source, x))


def _scatter_reduce(x: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True) -> Array:
    places, source = _along(index, dim), _source(index, source, x)
    if not include_self:
        neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": -jnp.inf, "amin": jnp.inf}[reduce]
        x = x.at[places].set(neutral)
    target = x.at[places]
    if reduce in ("sum", "mean"):
        total = target.add(source)
        if reduce == "sum":
            return total
        counts = jnp.zeros_like(x).at[places].add(1) + include_self
        return total / jnp.maximum(counts, 1)
    return {"prod": target.multiply, "amax": target.max, "amin": target.min}[reduce](source)


def _index_add(x: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Array:
    places = (slice(None),) * (dim % x.ndim) + (index,)
    return x.at[places].add(alpha * source)


def _slice_scatter(
    x: Array, source: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    return x.at[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)].set(source)


def _select_scatter(x: Array, source: Array, dim: int, index: int) -> Array:
    return x.at[(slice(None),) * (dim % x.ndim) + (index,)].set(source)


OPERATIONS: dict[str, Callable] = {
    "embedding": _embedding,
    "index.Tensor": lambda x, indices: x[_places(indices)],
    "_unsafe_index.Tensor": lambda x, indices: x[_places(indices)],
    "_unsafe_masked_index": _masked_index,
    "index_select": lambda x, dim, index: jnp.take(x, index, axis=dim, mode="clip"),
    "index_put": _index_put,
    "_unsafe_index_put": _index_put,
    "index_add": _index_add,
    "index_copy": lambda x, dim, index, source: x.at[(slice(None),) * (dim % x.ndim) + (index,)].set(source),
    "gather": _gather,
    "take_along_dim": lambda x, index, dim: jnp.take_along_axis(x, index, axis=dim),
    "scatter.src": _scatter,
    "scatter.value": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce.two": _scatter_reduce,
    "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter,
    "one_hot": lambda x, num_classes=-1: jax.nn.one_hot(x, num_classes, dtype=x.dtype),
}
