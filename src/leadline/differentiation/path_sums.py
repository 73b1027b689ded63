"""A derivative as a sum over paths: all paths one by one, and the same sum by one backward sweep."""

from typing import NamedTuple

import numpy as np

from .local_rules import RULES
from .tape import Tape, Traced


class LocalEdge(NamedTuple):
    """An edge of a graph of numbers: `partial` is ∂(head)/∂(tail)."""

    tail: int
    head: int
    partial: float


class PathSum(NamedTuple):
    """A derivative as a sum of products, with the number of paths and of multiplications and additions it took."""

    derivative: float
    paths: int
    operations: int


def local_edges(tape: Tape) -> list[LocalEdge]:
    """The edges of a recorded graph of single numbers, each with its local partial derivative.

    >>> tape = Tape()
    >>> x = tape.variable(3.0)
    >>> y = x * x
    >>> [edge.partial for edge in local_edges(tape)]
    [3.0, 3.0]
    """
    edges = []
    for head, node in enumerate(tape.nodes):
        if node.value.size != 1:
            raise ValueError(f"Node {head} of the tape has shape {node.value.shape}; paths are for graphs of numbers.")
        for i, tail in enumerate(node.parents):
            if tail is not None:
                push = RULES[node.operation].push
                partial = push(i, np.ones_like(node.arguments[i]), node.arguments, node.value, node.options)
                edges.append(LocalEdge(tail, head, float(np.squeeze(partial))))
    return edges


def sum_paths(edges: list[LocalEdge], source: int, sink: int, *, limit: int = 10**6) -> PathSum:
    """d(sink)/d(source) = Σ over directed paths Π over their edges of the local partials, path by path.

    Bauer 1974. A path of m edges takes m - 1 multiplications, and each path after the first one addition.

    >>> diamond = [LocalEdge(0, 1, 2.0), LocalEdge(0, 2, 3.0), LocalEdge(1, 3, 5.0), LocalEdge(2, 3, 7.0)]
    >>> sum_paths(diamond, 0, 3)
    PathSum(derivative=31.0, paths=2, operations=3)
    """
    leaving: dict[int, list[LocalEdge]] = {}
    for edge in edges:
        leaving.setdefault(edge.tail, []).append(edge)
    total, paths, operations = 0.0, 0, 0
    unfinished = [(source, 1.0, 0)]
    while unfinished:
        node, product, length = unfinished.pop()
        if node == sink:
            total, paths, operations = total + product, paths + 1, operations + max(length - 1, 0) + (paths > 0)
            if paths > limit:
                raise ValueError(f"There are more than {limit} paths; raise `limit`, or use `sweep_paths`.")
            continue
        unfinished += [(edge.head, product * edge.partial, length + 1) for edge in leaving.get(node, ())]
    return PathSum(total, paths, operations)


def sweep_paths(edges: list[LocalEdge], source: int, sink: int) -> PathSum:
    """The same sum by reverse mode: one multiplication and one addition for each edge that leads to the sink.

    Nodes must be numbered in topological order, tails before heads.

    >>> diamond = [LocalEdge(0, 1, 2.0), LocalEdge(0, 2, 3.0), LocalEdge(1, 3, 5.0), LocalEdge(2, 3, 7.0)]
    >>> sweep_paths(diamond, 0, 3)
    PathSum(derivative=31.0, paths=2, operations=8)
    """
    entering: dict[int, list[LocalEdge]] = {}
    for edge in edges:
        if edge.tail >= edge.head:
            raise ValueError(f"Edge {edge.tail} → {edge.head} goes back; number the nodes in topological order.")
        entering.setdefault(edge.head, []).append(edge)
    adjoint, ways, operations = {sink: 1.0}, {sink: 1}, 0
    for node in range(sink, source, -1):
        for edge in entering.get(node, ()) if node in adjoint else ():
            adjoint[edge.tail] = adjoint.get(edge.tail, 0.0) + adjoint[node] * edge.partial
            ways[edge.tail] = ways.get(edge.tail, 0) + ways[node]
            operations += 2
    return PathSum(adjoint.get(source, 0.0), ways.get(source, 0), operations)


def diamond_chain(x: Traced, slopes: np.ndarray) -> Traced:
    """A chain of diamonds: each splits y into sin(a y) and cos(b y) and adds them, so L diamonds have 2^L paths.

    >>> tape = Tape()
    >>> x = tape.variable(0.5)
    >>> y = diamond_chain(x, np.ones((3, 2)))
    >>> sweep_paths(local_edges(tape), x.node, y.node).paths
    8
    """
    y = x
    for a, b in slopes:
        y = np.sin(a * y) + np.cos(b * y)
    return y
