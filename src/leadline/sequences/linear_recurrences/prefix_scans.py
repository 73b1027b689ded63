"""Prefix products under an associative operation, by the algorithms of parallel machines, their steps counted."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import jax
import numpy as np
from jaxtyping import PyTree

Algorithm = Literal["hillis-steele", "blelloch", "odd-even", "sequential"]


class PrefixScan(NamedTuple):
    """All prefixes, how many operations follow one another (depth) and how many there are (work)."""

    prefixes: PyTree
    depth: int
    work: int


def prefix_scan(
    operation: Callable[[Any, Any], Any],
    elements: PyTree,
    *,
    algorithm: Algorithm = "blelloch",
    identity: PyTree = None,
) -> PrefixScan:
    """e_1, e_1 ∘ e_2, …, e_1 ∘ ⋯ ∘ e_T, and what it took: counted while it is computed.

    `elements` is a pytree of arrays with the axis of T elements first, `operation` maps two such pytrees of equal
    length, element by element; it must be associative and need not commute.

    - "hillis-steele" (1986): every element takes in the one 2^d places before: depth ⌈log₂ T⌉, work T log₂ T - T + 1;
    - "blelloch" (1990): up a tree and down again, from `identity`: depth 2 log₂ T, work 2(T - 1) for T a power of two
      (others are filled up with the identity);
    - "odd-even": `jax.lax.associative_scan`, which `linear_recurrence` uses;
    - "sequential": depth and work T - 1.

    The depth is the time on as many processors as there are elements; on one processor the work is. All but "odd-even"
    run in NumPy.

    >>> scan = prefix_scan(lambda a, b: a + b, np.arange(1, 1025), identity=0)
    >>> int(scan.prefixes[-1]), scan.depth, scan.work
    (524800, 20, 2046)
    >>> prefix_scan(lambda a, b: a + b, np.arange(1, 1025), algorithm="hillis-steele")[1:]
    (10, 9217)
    """
    if algorithm not in get_args(Algorithm):
        raise ValueError(f"There is no scan called {algorithm!r}; choose one of {', '.join(get_args(Algorithm))}.")
    leaves = jax.tree.leaves(elements)
    if not leaves or len({np.shape(leaf)[:1] for leaf in leaves}) != 1 or not np.shape(leaves[0])[0:1] > (0,):
        raise ValueError("A scan needs arrays with one row for each element, and at least one; give such a pytree.")
    if algorithm == "blelloch" and identity is None:
        raise ValueError("Blelloch's scan begins with the identity of the operation; give it as identity=.")
    counted = _Counter(operation)
    elements = jax.tree.map(np.asarray, elements)
    length = len(jax.tree.leaves(elements)[0])
    if algorithm == "hillis-steele":
        prefixes = _hillis_steele(counted, elements, length)
    elif algorithm == "blelloch":
        prefixes = _blelloch(counted, elements, length, jax.tree.map(np.asarray, identity))
    elif algorithm == "odd-even":
        prefixes = jax.jit(lambda given: jax.lax.associative_scan(counted, given))(elements)
    else:
        prefixes = _sequential(counted, elements, length)
    return PrefixScan(prefixes, counted.depth, counted.work)


class _Counter:
    """The operation; each call is one step of the machine, of as many operations as it has rows."""

    def __init__(self, operation: Callable[[Any, Any], Any]):
        self.operation, self.depth, self.work = operation, 0, 0

    def __call__(self, first: PyTree, second: PyTree) -> PyTree:
        rows = len(jax.tree.leaves(first)[0])
        if rows:
            self.depth, self.work = self.depth + 1, self.work + rows
        return self.operation(first, second)


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


def _sequential(operation: _Counter, elements: PyTree, length: int) -> PyTree:
    prefixes = [_rows(elements, slice(0, 1))]
    for t in range(1, length):
        prefixes.append(operation(prefixes[-1], _rows(elements, slice(t, t + 1))))
    return jax.tree.map(lambda *rows: np.concatenate(rows), *prefixes)


def _rows(tree: PyTree, which: slice) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[which], tree)


def _joined(first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: np.concatenate([a, b.astype(a.dtype)]), first, second)


def _interleaved(even: PyTree, odd: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: np.stack([a, b], 1).reshape(-1, *a.shape[1:]), even, odd)
