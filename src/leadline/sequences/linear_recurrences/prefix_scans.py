"""Prefix products under an associative operation: fast, in blocks, and by the algorithms of parallel machines."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

Algorithm = Literal["blocked", "odd-even", "sequential", "hillis-steele", "blelloch"]
BLOCK = 32


class PrefixScan(NamedTuple):
    """All prefixes, how many operations follow one another (depth) and how many there are (work)."""

    prefixes: PyTree
    depth: int
    work: int


def prefix_scan(
    operation: Callable[[Any, Any], Any],
    elements: PyTree,
    *,
    algorithm: Algorithm = "blocked",
    identity: PyTree = None,
    reverse: bool = False,
) -> PrefixScan:
    """e_1, e_1 ∘ e_2, …, e_1 ∘ ⋯ ∘ e_T, and what it took: counted while it is computed.

    `elements` is a pytree of arrays with the axis of T elements first, `operation` maps two such pytrees of equal
    length, element by element; it must be associative and need not commute. With `reverse` the products run to the
    end: e_1 ∘ ⋯ ∘ e_T, …, e_T. The first three compile and differentiate, the other two run in NumPy:

    - "blocked": blocks of 32 take their own prefixes step by step, all at once; their products are scanned in the same
      way, and each block is combined with what lies before it. Depth about 32 log₃₂ T, work 2T: little to compile, and
      a processor does what all blocks have to do at once;
    - "odd-even": `jax.lax.associative_scan`, compiled level by level (a quarter of a minute for a Kalman filter of
      100,000 observations), depth 2 log₂ T, work 2T;
    - "sequential": depth and work T - 1;
    - "hillis-steele" (1986): every element takes in the one 2^d places before: depth ⌈log₂ T⌉, work T log₂ T - T + 1;
    - "blelloch" (1990): up a tree and down again, from `identity`: depth 2 log₂ T, work 2(T - 1) for T a power of two
      (others are filled up with the identity).

    The depth is the time on as many processors as there are elements; on one processor the work is.

    >>> scan = prefix_scan(lambda a, b: a + b, np.arange(1, 1025), algorithm="blelloch", identity=0)
    >>> int(scan.prefixes[-1]), scan.depth, scan.work
    (524800, 20, 2046)
    >>> prefix_scan(lambda a, b: a + b, np.arange(1, 1025), algorithm="hillis-steele")[1:]
    (10, 9217)
    >>> prefix_scan(lambda a, b: a + b, jnp.arange(5), reverse=True).prefixes.tolist()
    [10, 10, 9, 7, 4]
    """
    if algorithm not in get_args(Algorithm):
        raise ValueError(f"There is no scan called {algorithm!r}; choose one of {', '.join(get_args(Algorithm))}.")
    leaves = jax.tree.leaves(elements)
    if not leaves or len({np.shape(leaf)[:1] for leaf in leaves}) != 1 or not np.shape(leaves[0])[0:1] > (0,):
        raise ValueError("A scan needs arrays with one row for each element, and at least one; give such a pytree.")
    if algorithm == "blelloch" and identity is None:
        raise ValueError("Blelloch's scan begins with the identity of the operation; give it as identity=.")
    counted = _Counter((lambda late, early: operation(early, late)) if reverse else operation)
    elements = _rows(elements, slice(None, None, -1)) if reverse else elements
    length = len(leaves[0])
    if algorithm == "blocked":
        prefixes = _blocked(counted, jax.tree.map(jnp.asarray, elements), length)
    elif algorithm == "sequential":
        prefixes = _sequential(counted, elements)
    elif algorithm == "odd-even":
        prefixes = jax.jit(lambda given: jax.lax.associative_scan(counted, given))(elements)
    else:
        elements = jax.tree.map(np.asarray, elements)
        if algorithm == "hillis-steele":
            prefixes = _hillis_steele(counted, elements, length)
        else:
            prefixes = _blelloch(counted, elements, length, jax.tree.map(np.asarray, identity))
    prefixes = _rows(prefixes, slice(None, None, -1)) if reverse else prefixes
    return PrefixScan(prefixes, counted.depth, counted.work)


class _Counter:
    """The operation; each call is one step of the machine, of as many operations as it has rows."""

    def __init__(self, operation: Callable[[Any, Any], Any]):
        self.operation, self.depth, self.work = operation, 0, 0

    def __call__(self, first: PyTree, second: PyTree) -> PyTree:
        self.count(1, len(jax.tree.leaves(first)[0]))
        return self.operation(first, second)

    def count(self, depth: int, rows: int) -> None:
        if rows:
            self.depth, self.work = self.depth + depth, self.work + depth * rows


def _blocked(operation: _Counter, elements: PyTree, length: int) -> PyTree:
    if length <= BLOCK:
        return _sequential(operation, elements)
    blocks = -(-length // BLOCK)

    def in_blocks(leaf: Array) -> Array:  # (position in the block, block, ...); what is filled in comes after all else
        filled = jnp.concatenate([leaf, jnp.repeat(leaf[-1:], blocks * BLOCK - length, 0)])
        return jnp.swapaxes(filled.reshape(blocks, BLOCK, *leaf.shape[1:]), 0, 1)

    inner = _steps(operation, jax.tree.map(in_blocks, elements))
    totals = _blocked(operation, _rows(inner, -1), blocks)
    before = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:-1], (BLOCK, blocks - 1, *leaf.shape[1:])), totals)
    operation.count(1, BLOCK * (blocks - 1))
    later = operation.operation(before, _rows(inner, (slice(None), slice(1, None))))
    whole = jax.tree.map(lambda first, rest: jnp.concatenate([first[:, :1], rest], 1), inner, later)
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1).reshape(blocks * BLOCK, *leaf.shape[2:])[:length], whole)


def _sequential(operation: _Counter, elements: PyTree) -> PyTree:
    return _rows(_steps(operation, jax.tree.map(lambda leaf: jnp.asarray(leaf)[:, None], elements)), (slice(None), 0))


def _steps(operation: _Counter, elements: PyTree) -> PyTree:
    """Prefixes of several sequences at once, (position, sequence, ...), one position after the other."""
    first, rest = _rows(elements, 0), _rows(elements, slice(1, None))
    positions, sequences = jax.tree.leaves(elements)[0].shape[:2]
    operation.count(positions - 1, sequences)

    def step(so_far: PyTree, element: PyTree) -> tuple[PyTree, PyTree]:
        product = operation.operation(so_far, element)
        return product, product

    _, found = jax.lax.scan(step, first, rest)
    return jax.tree.map(lambda head, tail: jnp.concatenate([head[None], tail]), first, found)


def _hillis_steele(operation: _Counter, elements: PyTree, length: int) -> PyTree:
    reach = 1
    while reach < length:
        earlier, later = _rows(elements, slice(None, -reach)), _rows(elements, slice(reach, None))
        elements = _joined(_rows(elements, slice(None, reach)), operation(earlier, later))
        reach *= 2
    return elements


def _blelloch(operation: _Counter, elements: PyTree, length: int, identity: PyTree) -> PyTree:
    size = 1 << (length - 1).bit_length()
    fill = jax.tree.map(lambda e, one: np.broadcast_to(one, (size - length, *e.shape[1:])), elements, identity)
    levels = [_joined(elements, fill)]
    while len(jax.tree.leaves(levels[-1])[0]) > 1:  # up: the product of each pair
        below = levels[-1]
        levels.append(operation(_rows(below, slice(0, None, 2)), _rows(below, slice(1, None, 2))))
    total = levels.pop()
    before = jax.tree.map(lambda e, one: np.broadcast_to(one, e.shape).astype(e.dtype), total, identity)
    for below in reversed(levels):  # down: what stands before each node's left child, and before its right one
        before = _interleaved(before, operation(before, _rows(below, slice(0, None, 2))))
    return _rows(_joined(_rows(before, slice(1, None)), total), slice(0, length))


def _rows(tree: PyTree, which: Any) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[which], tree)


def _joined(first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: np.concatenate([a, b.astype(a.dtype)]), first, second)


def _interleaved(even: PyTree, odd: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: np.stack([a, b], 1).reshape(-1, *a.shape[1:]), even, odd)
