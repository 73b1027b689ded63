"""The tangent kernel written tile by tile into its matrix, from signals that are held for a block of examples."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from leadline.differentiation.programs.layer_signals import Signals, layer_signals
from leadline.differentiation.programs.traced_program import Program

from .contractions import by_hadamard, by_jacobians, by_position_pairs, by_products, outer_products
from .cost_model import Routes

Matrices = tuple[Float[Array, "rows columns"], ...]
Contract = Callable[[Any, Any], list[tuple[int, Array]]]


@dataclass(frozen=True)
class Assembly:
    """The program, the routes, and the matrices to be made: leaf l adds to matrix number `matrix[l]`."""

    program: Program
    routes: Routes
    matrix: dict[int, int]
    trace: bool
    symmetric: bool

    def run(self, leaves: list[Array], x1: Array, x2: Array) -> Matrices:
        """All matrices, in blocks of examples and within them in tiles."""
        c = 1 if self.trace else math.prod(self.program.out_shape)
        dtype = jnp.result_type(*leaves)
        K = tuple(lax.empty((len(x1) * c, len(x2) * c), dtype) for _ in range(max(self.matrix.values()) + 1))
        (s1, s2), (n1, n2) = self.routes.block, (len(x1), len(x2))
        if s1 == n1 and s2 == n2:
            left = self._signals(leaves, x1)
            right = left if self.symmetric else self._signals(leaves, x2)
            K = self._block(K, leaves, x1, x2, left, right, (0, 0), True if self.symmetric else None)
        else:
            rows, columns = -(-n1 // s1), -(-n2 // s2)
            pairs = jnp.array([(i, j) for i in range(rows) for j in range(i if self.symmetric else 0, columns)])

            def block_pair(p: Any, K: Matrices) -> Matrices:
                i, j = jnp.minimum(pairs[p, 0] * s1, n1 - s1), jnp.minimum(pairs[p, 1] * s2, n2 - s2)
                part1, part2 = lax.dynamic_slice_in_dim(x1, i, s1), lax.dynamic_slice_in_dim(x2, j, s2)
                left, right = self._signals(leaves, part1), self._signals(leaves, part2)
                return self._block(K, leaves, part1, part2, left, right, (i, j), i == j if self.symmetric else None)

            K = lax.fori_loop(0, len(pairs), block_pair, K)
        return tuple(map(mirrored, K)) if self.symmetric else K

    def _signals(self, leaves: list[Array], x: Array) -> Signals:
        return layer_signals(self.program, self.routes.structure, leaves, x, self.routes.together)

    def _block(self, K, leaves, x1, x2, left: Signals, right: Signals, corner, triangle) -> Matrices:
        """All passes over one block: what is held in factors, then slices of the larger gradients, then products.

        The first pass writes, the others add.
        """
        routes = self.routes
        K = self._sweep(K, left, right, self._factored, corner, triangle, fresh=True)
        skip = len(routes.hadamard) + len(routes.pairs)
        for number, (layer, units) in enumerate(zip(routes.outer, routes.units, strict=True)):
            (a1, d1), (a2, d2) = ((s.activations[skip + number], s.deltas[skip + number]) for s in (left, right))
            which = self.matrix[layer.leaf]

            def add_slice(chunk, K, a1=a1, d1=d1, a2=a2, d2=d2, units=units, which=which):
                start = jnp.minimum(chunk * units, d1.shape[4] - units)
                new = start + jnp.arange(units) >= chunk * units  # the last slice begins early: not twice
                g1, g2 = outer_products(a1, d1, start, units), outer_products(a2, d2, start, units)
                g1 = (g1.reshape(*g1.shape[:2], -1, units) * new).reshape(g1.shape)

                def contract(rows: Array, columns: Array) -> list[tuple[int, Array]]:
                    return [(which, by_jacobians(rows, columns, self.trace))]

                return self._sweep(K, g1, g2, contract, corner, triangle, fresh=False)

            chunks = -(-layer.units // units)
            K = add_slice(0, K) if chunks == 1 else lax.fori_loop(0, chunks, add_slice, K)
        if routes.products:
            K = self._sweep(K, x1, x2, self._products(leaves), corner, triangle, fresh=False)
        return K

    def _factored(self, left: Signals, right: Signals) -> list[tuple[int, Array]]:
        routes, tiles = self.routes, []
        for number, layer in enumerate((*routes.hadamard, *routes.pairs)):
            (a1, d1), (a2, d2) = ((s.activations[number], s.deltas[number]) for s in (left, right))
            if layer.plain:
                bias = 0.0 if layer.bias is None else layer.bias_scale
                tile = by_hadamard(a1, d1, a2, d2, bias, self.trace)
            else:
                tile = by_position_pairs(a1, d1, a2, d2, self.trace)
            tiles.append((self.matrix[layer.leaf], tile))
        for number, leaf in enumerate(routes.explicit):
            tiles.append((self.matrix[leaf], by_jacobians(left.jacobians[number], right.jacobians[number], self.trace)))
        return tiles

    def _products(self, leaves: list[Array]) -> Contract:
        routes, program = self.routes, self.program

        def f(free: dict[int, Array], fixed: list[Array], x: Array) -> Array:
            leaves = [free.get(i, leaf) for i, leaf in enumerate(fixed)]
            return jnp.ravel(program.run(leaves, x, {}, ())[0])

        def contract(x1: Array, x2: Array) -> list[tuple[int, Array]]:
            tiles = []
            for which in sorted({self.matrix[leaf] for leaf in routes.products}):
                free = {leaf: leaves[leaf] for leaf in routes.products if self.matrix[leaf] == which}
                tiles.append((which, by_products(f, leaves, free, x1, x2, routes.directions, self.trace)))
            return tiles

        return contract

    def _sweep(self, K, left: PyTree, right: PyTree, contract: Contract, corner, triangle, *, fresh: bool) -> Matrices:
        """Put contract(rows of left, rows of right) into K at `corner`, tile by tile.

        `triangle` says whether the block lies on the diagonal, where the tiles above it suffice (None: K has no
        symmetry). The last tile of a side begins early enough to be full; an adding sweep skips what it shares.
        """
        n1, n2 = (
            jax.tree.leaves(side)[0].shape[0] if jax.tree.leaves(side) else s
            for side, s in zip((left, right), self.routes.block, strict=True)
        )
        t1, t2 = min(self.routes.tile, n1), min(self.routes.tile, n2)
        rows, columns = -(-n1 // t1), -(-n2 // t2)
        c = 1 if self.trace else math.prod(self.program.out_shape)

        def tile(i: Any, row: PyTree, j: Any, K: Matrices) -> Matrices:
            a, b = _least(i * t1, n1 - t1), _least(j * t2, n2 - t2)
            sums: list[Any] = [None] * len(K)
            for which, part in contract(row, _rows(right, b, t2)):
                sums[which] = part if sums[which] is None else sums[which] + part
            at = ((corner[0] + a) * c, (corner[1] + b) * c)
            new_rows = (jnp.arange(t1 * c) >= (i * t1 - a) * c)[:, None]
            new_columns = (jnp.arange(t2 * c) >= (j * t2 - b) * c)[None, :]
            done = []
            for matrix, added in zip(K, sums, strict=True):
                part = jnp.zeros((t1 * c, t2 * c), matrix.dtype) if added is None else added.astype(matrix.dtype)
                if not fresh:
                    part = lax.dynamic_slice(matrix, at, part.shape) + jnp.where(new_rows & new_columns, part, 0)
                done.append(lax.dynamic_update_slice(matrix, part, at))
            return tuple(done)

        def row_of_tiles(i: Any, K: Matrices) -> Matrices:
            row = _rows(left, _least(i * t1, n1 - t1), t1)
            first = 0 if triangle is None else jnp.where(triangle, i, 0)
            return lax.fori_loop(first, columns, lambda j, K: tile(i, row, j, K), K)

        if rows == columns == 1:
            return tile(0, left, 0, K)
        return lax.fori_loop(0, rows, row_of_tiles, K)


def mirrored(K: Float[Array, "n n"], side: int = 80) -> Float[Array, "n n"]:
    """K with its upper triangle copied onto the lower one, in squares small enough for the fastest cache."""
    n = K.shape[0]
    if n <= 4 * side:
        return jnp.triu(K) + jnp.triu(K, 1).T
    whole = n // side
    starts = [*range(0, whole * side, side), n - side]
    clear = [(p * side, q * side) for p in range(whole) for q in range(p + 1, whole)]
    crossed = [(p, p) for p in starts] + [(p, n - side) for p in starts]  # these reach below the diagonal
    order = jnp.arange(side)

    def copy(k: Any, K: Array, table: Array) -> Array:
        p, q = table[k, 0], table[k, 1]
        return lax.dynamic_update_slice(K, lax.dynamic_slice(K, (p, q), (side, side)).T, (q, p))

    def complete(k: Any, K: Array, table: Array) -> Array:
        p, q = table[k, 0], table[k, 1]
        above, old = lax.dynamic_slice(K, (p, q), (side, side)).T, lax.dynamic_slice(K, (q, p), (side, side))
        lower = (q + order)[:, None] > (p + order)[None, :]
        return lax.dynamic_update_slice(K, jnp.where(lower, above, old), (q, p))

    for step, pairs in ((copy, clear), (complete, crossed)):
        K = lax.fori_loop(0, len(pairs), partial(step, table=jnp.array(pairs)), K)
    return K


def _rows(side: PyTree, start: Any, count: int) -> PyTree:
    return jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, start, count), side)


def _least(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else jnp.minimum(a, b)
