"""Means over the rows of data, taken batch by batch, from memory or from a file that does not fit into it."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree


class _Source:
    """Whatever has `shape`, `dtype` and slices; it is told from others by its identity."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows


class StoredRows(eqx.Module):
    """Rows that stay where they are (`np.memmap`, HDF5, Zarr: shape, dtype, slices) and are read a batch at a time."""

    source: _Source = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.source.rows.shape)

    @property
    def dtype(self) -> Any:
        return jax.dtypes.canonicalize_dtype(self.source.rows.dtype)

    def batch(self, first: Array, rows: int) -> Array:
        """Rows first, ..., first + rows − 1, inside a compiled program."""
        result = jax.ShapeDtypeStruct((rows, *self.shape[1:]), self.dtype)

        def read(first: Any) -> np.ndarray:
            return np.asarray(self.source.rows[int(first) : int(first) + rows], self.dtype)

        return jax.pure_callback(read, result, first, vmap_method="sequential")


def rows_in_memory(data: Sequence[PyTree]) -> tuple[tuple, int]:
    """The data as arrays or `StoredRows`, and their common number of rows.

    >>> rows_in_memory((np.zeros((5, 2)), np.zeros(5)))[1]
    5
    """
    held = tuple(jax.tree.map(_held, part, is_leaf=_has_rows) for part in data)
    leaves = jax.tree.leaves(held, is_leaf=lambda leaf: isinstance(leaf, StoredRows))
    if not leaves:
        return held, 1
    counts = {leaf.shape[0] for leaf in leaves if leaf.shape}
    if len(counts) != 1 or not all(leaf.shape for leaf in leaves):
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in leaves)
        raise ValueError(f"The data have shapes {shapes}; give arrays with one row per example, as many in each.")
    if counts == {0}:
        raise ValueError("The data have no rows; give at least one example.")
    return held, counts.pop()


def _has_rows(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "__getitem__")


def _held(leaf: Any) -> Any:
    if isinstance(leaf, np.memmap) or (_has_rows(leaf) and not isinstance(leaf, np.ndarray | np.generic | jax.Array)):
        return StoredRows(_Source(leaf))
    return jnp.asarray(leaf)


def batch_mean(term: Callable[..., PyTree], data: tuple, rows: int, batch: int | None) -> PyTree:
    """The mean over all rows of what `term(*batch)` gives as the mean over its own: Σ_c (m_c/n) term(batch c).

    One scan over batches of equal size and one smaller batch for what is left over; without `batch`, all rows at once.

    >>> float(batch_mean(lambda x: x.mean(), (jnp.arange(10.0),), 10, 3))
    4.5
    """
    if batch is None or batch >= rows:
        return term(*batch_rows(data, rows))
    full, left = divmod(rows, batch)

    def add(total: PyTree, index: Array) -> tuple[PyTree, None]:
        part = term(*batch_rows(data, batch, index * batch))
        return jax.tree.map(lambda t, p: t + (batch / rows) * p, total, part), None

    shapes = eqx.filter_eval_shape(lambda: term(*batch_rows(data, batch)))
    total = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    total, _ = jax.lax.scan(add, total, jnp.arange(full))
    if left:
        rest = term(*batch_rows(data, left, full * batch))
        total = jax.tree.map(lambda t, p: t + (left / rows) * p, total, rest)
    return total


def batch_rows(data: tuple, rows: int, first: int | Array = 0) -> tuple:
    """Rows first, ..., first + rows − 1 of the data, inside a compiled program."""

    def some(leaf: Any) -> Array:
        if isinstance(leaf, StoredRows):
            return leaf.batch(jnp.asarray(first), rows)
        return leaf if rows == leaf.shape[0] else jax.lax.dynamic_slice_in_dim(leaf, first, rows)

    return jax.tree.map(some, data, is_leaf=lambda leaf: isinstance(leaf, StoredRows))
