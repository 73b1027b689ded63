"""Pictures of computational graphs: values on the way up, adjoints on the way back, side by side."""

from collections.abc import Mapping, Sequence

import numpy as np

from leadline.evidence import Figure

from .canvas import beside
from .planar import graph, plane


def graph_pair(
    title: str,
    places: Mapping[str, tuple[float, float]],
    edges: Sequence[tuple[str, str]],
    values: Mapping[str, float],
    adjoints: Mapping[str, float],
) -> "Figure":
    """The graph twice: each node with its value, then with its adjoint (a bar over the name); larger is bigger.

    The graph must be connected.
    """
    return beside(
        title,
        _labelled("values, left to right", places, edges, values, ""),
        _labelled("adjoints, right to left", places, edges, adjoints, "\u0304"),
    )


def _labelled(title, places, edges, numbers, mark: str) -> "Figure":
    names = list(places)
    spots = np.array([places[name] for name in names], float)
    sizes = np.array([abs(float(numbers[name])) for name in names])
    walk = np.array([places[name] for name in _walk(names[0], edges, set())], float)
    (x0, y0), (x1, y1) = spots.min(axis=0), spots.max(axis=0)
    return plane(
        title,
        "",
        "",
        axes=False,
        points={"node": spots},
        sizes={"node": 50 + 150 * sizes / (sizes.max() or 1.0)},
        lines={"operation": (walk[:, 0], walk[:, 1])},
        labels=[  # above the top row and below the others, where no edge runs
            (x - 0.25, y + (0.1 if y == y1 else -0.35), f"{name}{mark} = {float(numbers[name]):.3g}")
            for name, (x, y) in places.items()
        ],
        domain=((x0 - 0.4, x1 + 0.8), (y0 - 0.5, y1 + 0.4)),
    )


def _walk(node: str, edges: Sequence[tuple[str, str]], seen: set[tuple[str, str]]) -> list[str]:
    """A walk over every edge and back, so that one line draws the graph."""
    path = [node]
    for edge in edges:
        if node in edge and edge not in seen:
            seen.add(edge)
            path += [*_walk(edge[1] if edge[0] == node else edge[0], edges, seen), node]
    return path


def layered_graph(title: str, layers: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> "Figure":
    """A small fully connected network, units shaded by the size of `layers`, edges by the sign and size of the weights.

    Sizes are relative to the largest in the picture.
    """
    largest = max(float(np.abs(layer).max()) for layer in layers) or 1.0
    nodes, first = [], []
    for column, layer in enumerate(layers):
        first.append(len(nodes))
        for i, size in enumerate(np.abs(np.asarray(layer))):
            nodes.append((column, i - (len(layer) - 1) / 2, f"{size:.2g}", float(size) / largest))
    edges = [
        (first[column] + j, first[column + 1] + i, float(matrix[i, j]))
        for column, matrix in enumerate(weights)
        for i in range(matrix.shape[0])
        for j in range(matrix.shape[1])
    ]
    return graph(title, nodes=nodes, edges=edges)


def chain_of_pairs(title: str, names: Sequence[str], values: Sequence[float], adjoints: Sequence[float]) -> "Figure":
    """Layers in a row: h above, forward in blue, adjoints below, back in orange, each layer between its two arrows."""
    count = len(names)
    largest_h, largest_d = max(map(abs, values)) or 1.0, max(map(abs, adjoints)) or 1.0
    top = [(2 * i, 2, f"h{i}", 0.5 * abs(values[i]) / largest_h) for i in range(count + 1)]
    boxes = [(2 * i + 1, 1, name, 0.0) for i, name in enumerate(names)]
    bottom = [(2 * i, 0, f"δ{i}", 0.5 * abs(adjoints[i]) / largest_d) for i in range(count + 1)]
    box, low = count + 1, 2 * count + 1
    edges = [edge for i in range(count) for edge in ((i, box + i, 1.0), (box + i, i + 1, 1.0))]
    edges += [edge for i in range(count) for edge in ((low + i + 1, box + i, -1.0), (box + i, low + i, -1.0))]
    return graph(title, nodes=[*top, *boxes, *bottom], edges=edges)
