"""Gram matrices spread over the devices of a mesh, in one process or in many."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from leadline._checks import require
from leadline._shapes import output_shape

_ROWS, _COLUMNS = "rows", "columns"
_TILE = 256  # inputs a side of what a device computes at once


def square_mesh(devices: list | None = None) -> Mesh:
    """All devices (of all processes) as a grid of rows and columns, as square as their number allows.

    >>> dict(square_mesh(jax.devices()[:1]).shape)
    {'rows': 1, 'columns': 1}
    """
    devices = jax.devices() if devices is None else devices
    count = len(devices)
    columns = max(c for c in range(1, int(count**0.5) + 1) if count % c == 0)
    return Mesh(np.asarray(devices).reshape(count // columns, columns), (_ROWS, _COLUMNS))


class ShardedGram(eqx.Module):
    """A Gram matrix over a mesh. `blocks` is one global array, every device keeping the block of its rows and columns.

    A mesh divides only what it goes into, so `blocks` is filled up with zero rows and columns beyond `shape`; they
    change no product and no norm.
    """

    blocks: Float[Array, "filled_rows filled_columns"]
    shape: tuple[int, int] = eqx.field(static=True)

    def product(self, v: Float[Array | np.ndarray, "columns ..."]) -> Float[Array, "rows ..."]:
        """K v; each device multiplies its block, the mesh adds."""
        return _product(self.blocks, _filled(v, self.blocks.shape[1]))[: self.shape[0]]

    def solve(
        self, y: Float[Array | np.ndarray, "rows ..."], ridge: float, *, tolerance: float = 1e-10
    ) -> Float[Array, "rows ..."]:
        """(K + ridge I)⁻¹ y for a square K by conjugate gradients, to a relative residual of `tolerance`."""
        rows, columns = self.shape
        if rows != columns:
            raise ValueError(f"solve needs a square Gram matrix; this one is {rows} x {columns}.")
        if ridge < 0:
            raise ValueError(f"solve got ridge = {ridge}; it must be at least 0.")
        size = max(self.blocks.shape)
        return _solve(self.blocks, _filled(y, size), ridge, tolerance)[:rows]

    def whole(self) -> Float[np.ndarray, "rows columns"]:
        """The matrix in the memory of this process; of all processes, where there are several."""
        from jax.experimental import multihost_utils

        gathered = (
            multihost_utils.process_allgather(self.blocks, tiled=True) if jax.process_count() > 1 else self.blocks
        )
        return np.asarray(gathered)[: self.shape[0], : self.shape[1]]


def sharded_gram(
    kernel: Callable[[Array, Array], Float[Array, "rows columns"]],
    x: Float[Array | np.ndarray, "m ..."],
    z: Float[Array | np.ndarray, "n ..."] | None = None,
    *,
    mesh: Mesh | None = None,
) -> ShardedGram:
    """The matrix k(x_i, z_j) over a mesh: every device computes its block, in tiles, and keeps it; no block ever moves.

    Any JAX function of two batches that gives the matrix of their pairs will do, as for `gram`. With `jax.distributed`
    every process makes this call with the same x and z, and the mesh has the devices of all of them.

    >>> from leadline.kernels import Linear
    >>> sharded_gram(Linear(), np.array([[1.0, 0.0], [2.0, 1.0]])).whole().tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    require("sharded_gram", x=x)
    if z is not None:
        require("sharded_gram", z=z)
    mesh = square_mesh() if mesh is None else mesh
    if set(mesh.axis_names) != {_ROWS, _COLUMNS}:
        raise ValueError(f"sharded_gram got a mesh with the axes {mesh.axis_names}; make one with square_mesh.")
    x = np.asarray(x)
    z = x if z is None else np.asarray(z)
    if x.shape[1:] != z.shape[1:]:
        raise ValueError(
            f"sharded_gram got inputs of shape {x.shape[1:]} and {z.shape[1:]}; both must have the same features."
        )
    one = output_shape(kernel, *(jax.ShapeDtypeStruct((1, *s.shape[1:]), s.dtype) for s in (x, z)))
    shape = (len(x) * one.shape[0], len(z) * one.shape[1])
    return ShardedGram(_blocks(kernel, _spread(x, mesh, _ROWS), _spread(z, mesh, _COLUMNS), shape, mesh), shape)


@jax.jit
def _product(blocks: Array, v: Array) -> Array:
    return blocks @ v


@jax.jit
def _solve(blocks: Array, y: Array, ridge: float, tolerance: float) -> Array:
    size = len(y)
    solution, _ = jax.scipy.sparse.linalg.cg(
        lambda v: jnp.zeros_like(v).at[: blocks.shape[0]].set(blocks @ v[: blocks.shape[1]]) + ridge * v,
        y,
        tol=tolerance,
        maxiter=10 * size,
    )
    return solution


def _filled(v: Float[Array | np.ndarray, "n ..."], size: int) -> np.ndarray:
    """With zeros to the size of the blocks; a plain host array, the same in every process."""
    v = np.asarray(v)
    return np.concatenate([v, np.zeros((size - len(v), *v.shape[1:]), v.dtype)])


def _spread(x: np.ndarray, mesh: Mesh, axis: str) -> Array:
    """The inputs over one axis of the mesh, filled up with the last one to equal shares of whole tiles."""
    parts = mesh.shape[axis]
    share = -(-len(x) // parts)
    tile = min(_TILE, share)
    missing = parts * (-(-share // tile) * tile) - len(x)
    filled = np.concatenate([x, np.repeat(x[-1:], missing, axis=0)])
    sharding = NamedSharding(mesh, PartitionSpec(axis))
    return jax.make_array_from_callback(filled.shape, sharding, lambda index: filled[index])


@eqx.filter_jit
def _blocks(kernel: Callable, x: Array, z: Array, shape: tuple[int, int], mesh: Mesh) -> Array:
    def block(a: Array, b: Array) -> Array:
        a_tiles, b_tiles = _tiles(a), _tiles(b)
        tile = output_shape(kernel, a_tiles[0], b_tiles[0])
        (rows, columns), across = tile.shape, len(b_tiles)

        def place(k: Array, whole: Array) -> Array:
            i, j = k // across, k % across
            return jax.lax.dynamic_update_slice(whole, kernel(a_tiles[i], b_tiles[j]), (i * rows, j * columns))

        empty = jax.lax.empty((len(a_tiles) * rows, across * columns), tile.dtype)
        return jax.lax.fori_loop(0, len(a_tiles) * across, place, empty)

    filled = jax.shard_map(
        block,
        mesh=mesh,
        in_specs=(PartitionSpec(_ROWS), PartitionSpec(_COLUMNS)),
        out_specs=PartitionSpec(_ROWS, _COLUMNS),
        check_vma=False,
    )(x, z)
    if filled.shape == shape:
        return filled
    real = (jnp.arange(filled.shape[0]) < shape[0])[:, None] & (jnp.arange(filled.shape[1]) < shape[1])[None, :]
    return jnp.where(real, filled, 0.0)


def _tiles(x: Array) -> Array:
    tile = min(_TILE, len(x))
    return x.reshape(len(x) // tile, tile, *x.shape[1:])
