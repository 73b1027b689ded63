"""Gram matrices computed in tiles, within a memory budget."""

import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers
from leadline._shapes import output_shape

GRAM_BUDGET = 2 * 2**30  # bytes: what a Gram matrix and its computation may take unless said otherwise
LARGEST_TILE = 512  # inputs a side: enough to hide the start of a program, small enough for the cache
_AHEAD = 2  # tiles in the making while one is read: as many as there may be idle cores

PairMatrix = Callable[[Array, Array], Float[Array, "rows columns"]]


class TilePlan(NamedTuple):
    """How a Gram matrix will be computed: inputs per side of a tile, and the bytes it takes beside the result."""

    tile: int
    working_bytes: int
    result_bytes: int
    program: "Program"
    rows: int  # of the result: inputs times outputs, for a kernel that gives a block for every pair of inputs
    columns: int
    dtype: np.dtype


def plan_tiles(
    kernel: PairMatrix,
    x: Float[Array | np.ndarray, "m ..."],
    z: Float[Array | np.ndarray, "n ..."],
    *,
    budget: int = GRAM_BUDGET,
    largest: int = LARGEST_TILE,
    holds_result: bool = True,
) -> TilePlan:
    """The largest tile (at most `largest` inputs a side) whose memory, as the compiler states it, is within the budget.

    >>> from leadline.kernels import Linear
    >>> plan_tiles(Linear(), np.ones((3000, 5)), np.ones((3000, 5)), budget=2**28).tile
    512
    """
    if x.shape[1:] != z.shape[1:]:
        raise ValueError(
            f"The Gram matrix was asked for between inputs of shape {x.shape[1:]} and of shape {z.shape[1:]}; "
            "both must have the same features."
        )
    if min(len(x), len(z)) == 0:
        raise ValueError("The Gram matrix was asked for with no inputs on one side; give at least one on each.")
    tile = min(largest, max(len(x), len(z)))
    one = output_shape(kernel, _row(x, 1), _row(z, 1))
    rows, columns = len(x) * one.shape[0], len(z) * one.shape[1]
    result = rows * columns * one.dtype.itemsize if holds_result else 0
    while True:
        program = _program(kernel, x, z, tile)
        kept = sum(-(-len(side) // tile) * tile * math.prod(side.shape[1:]) for side in (x, z))  # the inputs, filled up
        working = (_AHEAD + 1) * program.bytes + kept * _row(x, 1).dtype.itemsize
        if result + working <= budget:
            return TilePlan(tile, working, result, program, rows, columns, np.dtype(one.dtype))
        if tile == 1 or result >= budget:
            raise MemoryError(_too_little(budget, result, working, rows, columns))
        # Memory grows at least linearly and at most as the square of the tile's side.
        tile = max(1, min(tile - 1, int(tile * ((budget - result) / working) ** 0.5)))


def gram(
    kernel: PairMatrix,
    x: Float[Array | np.ndarray, "m ..."],
    z: Float[Array | np.ndarray, "n ..."] | None = None,
    *,
    budget: int = GRAM_BUDGET,
    largest: int = LARGEST_TILE,
    out: np.ndarray | None = None,
) -> Float[np.ndarray, "rows columns"]:
    """The matrix k(x_i, z_j), tile by tile, never beyond `budget` bytes for result and working memory together.

    Any JAX function of two batches that gives the matrix of their pairs will do: a `Kernel`, the `kernel_fn` of an
    infinitely wide network, a function of your own. Without `z` the matrix is that of x with itself, and only the tiles
    on and above the diagonal are computed. Tiles have `largest` inputs a side at most, and several are computed at a
    time. `out` takes the result, e.g. `numpy.memmap` on a disk; it does not count.

    >>> from leadline.kernels import Gaussian
    >>> K = gram(Gaussian(1.0), np.array([[0.0], [1.0], [3.0]]))
    >>> [round(float(k), 3) for k in K[0]]
    [1.0, 0.607, 0.011]
    """
    require_numbers("gram", x=x, z=z)
    symmetric, x = z is None, np.asarray(x)
    z = x if z is None else np.asarray(z)
    plan = plan_tiles(kernel, x, z, budget=budget, largest=largest, holds_result=out is None)
    if out is None:
        out = _aligned(plan)
    elif out.shape != (plan.rows, plan.columns):
        raise ValueError(f"gram got out of shape {out.shape}; the result has shape {(plan.rows, plan.columns)}.")
    for rows, columns, block in _blocks(x, z, plan, symmetric):
        if symmetric and rows == columns:
            block = (block + block.T) / 2  # rounding is not symmetric
        out[rows, columns] = block
        if symmetric and rows != columns:
            out[columns, rows] = block.T
    return out


def gram_product(
    kernel: PairMatrix,
    x: Float[Array | np.ndarray, "m ..."],
    z: Float[Array | np.ndarray, "n ..."],
    v: Float[Array | np.ndarray, "columns ..."],
    *,
    budget: int = GRAM_BUDGET,
) -> Float[np.ndarray, "rows ..."]:
    """K v for the matrix K = k(x_i, z_j), which is never stored: predictions of a kernel machine on any inputs.

    >>> from leadline.kernels import Linear
    >>> gram_product(Linear(), np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0])).tolist()
    [4.0, 6.0]
    """
    x, z, v = np.asarray(x), np.asarray(z), np.asarray(v)
    plan = plan_tiles(kernel, x, z, budget=budget, holds_result=False)
    if len(v) != plan.columns:
        raise ValueError(f"gram_product got a vector of {len(v)} entries for a matrix of {plan.columns} columns.")
    product = np.zeros((plan.rows, *v.shape[1:]), np.result_type(plan.dtype, v.dtype))
    for rows, columns, block in _blocks(x, z, plan, symmetric=False):
        product[rows] += block @ v[columns]
    return product


def _blocks(x: np.ndarray, z: np.ndarray, plan: TilePlan, symmetric: bool) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """The tiles with their places in the result; the next ones are computed while one is being read."""
    left = _cut(x, plan.tile)
    right = left if z is x else _cut(z, plan.tile)
    per_row, per_column = plan.rows // len(x), plan.columns // len(z)
    waiting: deque[tuple[slice, slice, Array]] = deque()
    for i, (first, a) in enumerate(left):
        for second, b in right[i:] if symmetric else right:
            rows = slice(first * per_row, min(first + plan.tile, len(x)) * per_row)
            columns = slice(second * per_column, min(second + plan.tile, len(z)) * per_column)
            waiting.append((rows, columns, plan.program(a, b)))
            if len(waiting) > _AHEAD:
                yield _trimmed(*waiting.popleft())
    while waiting:
        yield _trimmed(*waiting.popleft())


def _aligned(plan: TilePlan) -> np.ndarray:
    """An empty matrix that begins at a multiple of 64 bytes, which JAX takes over without a copy."""
    room = np.empty(plan.rows * plan.columns * plan.dtype.itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : room.size - 64 + start].view(plan.dtype).reshape(plan.rows, plan.columns)


def _trimmed(rows: slice, columns: slice, block: Array) -> tuple[slice, slice, np.ndarray]:
    return rows, columns, np.asarray(block)[: rows.stop - rows.start, : columns.stop - columns.start]


class Program(NamedTuple):
    """A kernel compiled for tiles of one shape, with the arrays it holds."""

    run: Callable[..., Array]
    arrays: PyTree
    bytes: int  # of working memory and result

    def __call__(self, a: Array, b: Array) -> Array:
        return self.run(self.arrays, a, b)


def _program(kernel: PairMatrix, x: Array | np.ndarray, z: Array | np.ndarray, tile: int) -> Program:
    arrays, rest = eqx.partition(kernel, eqx.is_array)
    leaves, structure = jax.tree.flatten(rest)
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arrays)
    kinds, tree = jax.tree.flatten(shapes)
    compiled = _compiled(tuple(leaves), structure, tuple(kinds), tree, _row(x, tile), _row(z, tile))
    used = compiled.memory_analysis()
    return Program(compiled, arrays, used.temp_size_in_bytes + used.output_size_in_bytes)


@lru_cache(maxsize=64)
def _compiled(leaves: tuple, structure: Any, kinds: tuple, tree: Any, a: Any, b: Any) -> Any:
    rest = jax.tree.unflatten(structure, leaves)

    def tile(arrays: PyTree, a: Array, b: Array) -> Array:
        return eqx.combine(arrays, rest)(a, b)

    return jax.jit(tile).lower(jax.tree.unflatten(tree, kinds), a, b).compile()


def _cut(x: np.ndarray, tile: int) -> list[tuple[int, Array]]:
    """Pieces of one shape, so that one program serves all; the last one is filled up with its last row."""
    pieces = [(start, x[start : start + tile]) for start in range(0, len(x), tile)]
    return [
        (start, jnp.asarray(np.concatenate([rows, np.repeat(rows[-1:], tile - len(rows), axis=0)])))
        for start, rows in pieces
    ]


def _row(x: Array | np.ndarray, count: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((count, *x.shape[1:]), jax.dtypes.canonicalize_dtype(x.dtype))


def _too_little(budget: int, result: int, working: int, rows: int, columns: int) -> str:
    mebi = 2**20
    if result >= budget:
        return (
            f"A Gram matrix of {rows} x {columns} takes {result / mebi:.0f} MiB, more than the budget of "
            f"{budget / mebi:.0f} MiB; give a larger budget, a file-backed `out`, or use gram_product."
        )
    return (
        f"One entry of the Gram matrix takes {working / mebi:.1f} MiB of working memory beside {result / mebi:.0f} MiB "
        f"of result, more than the budget of {budget / mebi:.0f} MiB; give a larger budget."
    )
