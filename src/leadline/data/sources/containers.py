"""What `load` gives beside labelled images: a text, a graph, a set of graphs, a series, a point cloud, a volume."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .named_arrays import NamedArrays


class Text(NamedTuple):
    """A text and its vocabulary, the characters that occur in it, in order.

    >>> text = Text("two words", "to be or not", tuple(" benort"))
    >>> text.encode("not").tolist(), text.decode(np.array([6, 4]))
    ([3, 4, 6], 'to')
    """

    name: str
    text: str
    vocabulary: tuple[str, ...]

    def encode(self, text: str) -> Int[np.ndarray, " n"]:
        """The number of each character in the vocabulary."""
        number = {character: i for i, character in enumerate(self.vocabulary)}
        if unknown := sorted(set(text) - set(number)):
            raise ValueError(f"{unknown[0]!r} is no character of {self.name}; leave it out.")
        return np.array([number[character] for character in text], np.int32)

    def decode(self, numbers: Int[np.ndarray, " n"]) -> str:
        """The text with these numbers."""
        return "".join(self.vocabulary[i] for i in numbers)


class Graph(NamedTuple):
    """An undirected graph: each edge once, from the smaller node; sparse binary features of nodes; labels; a split.

    Node i has the features feature_indices[feature_indptr[i]:feature_indptr[i + 1]] of `feature_count`; a label of -1
    is not known. `train`, `validation` and `test` are nodes, or empty where there is no canonical split.
    """

    name: str
    edges: Int[np.ndarray, "m 2"]
    labels: Int[np.ndarray, " n"]
    feature_indptr: Int[np.ndarray, " _"]
    feature_indices: Int[np.ndarray, " _"]
    feature_count: int
    train: Int[np.ndarray, " _"]
    validation: Int[np.ndarray, " _"]
    test: Int[np.ndarray, " _"]

    @property
    def nodes(self) -> int:
        """n."""
        return len(self.labels)

    def features(self) -> Float[np.ndarray, "n f"]:
        """The features as a dense matrix of 0 and 1."""
        dense = np.zeros((self.nodes, self.feature_count), np.float32)
        dense[np.repeat(np.arange(self.nodes), np.diff(self.feature_indptr)), self.feature_indices] = 1
        return dense


class GraphSet(NamedTuple):
    """Graphs with one label each."""

    name: str
    graphs: tuple[Graph, ...]
    labels: Int[np.ndarray, " n"]


class Series(NamedTuple):
    """One number for each time."""

    name: str
    times: Float[np.ndarray, " n"]
    values: Float[np.ndarray, " n"]


class PointCloud(NamedTuple):
    """Points of a surface in space."""

    name: str
    points: Float[np.ndarray, "n 3"]


class Volume(NamedTuple):
    """A number for each cell of a grid in space and the length of a cell along each axis.

    Numbers lie in [0, 1], or are Hounsfield units where the volume is a computed tomography: -1000 air, 0 water, bone
    from about 200.
    """

    name: str
    values: Float[np.ndarray, "x y z"]
    spacing: Float[np.ndarray, " 3"]


def text_of(name: str, arrays: NamedArrays) -> Text:
    """The text of bytes in UTF-8."""
    text = arrays["text"].tobytes().decode("utf-8")
    return Text(name, text, tuple(sorted(set(text))))


def graph_of(name: str, arrays: NamedArrays) -> Graph:
    """The graph of arrays with the names of its fields."""
    wide = {field: arrays[field].astype(np.int64) for field in Graph._fields if field not in ("name", "feature_count")}
    return Graph(name=name, feature_count=int(arrays["feature_count"]), **wide)


def graph_set_of(name: str, arrays: NamedArrays) -> GraphSet:
    """The graphs of a common list of nodes and edges; a node's only feature is its label, one of `node_labels`."""
    node_graph, atoms, edges = (arrays[field].astype(np.int64) for field in ("node_graph", "node_labels", "edges"))
    graphs, count, nothing = [], int(atoms.max()) + 1, np.zeros(0, np.int64)
    for g, first in enumerate(np.searchsorted(node_graph, np.arange(len(arrays["graph_labels"])))):
        own = atoms[node_graph == g]
        inside = edges[node_graph[edges[:, 0]] == g] - first
        indptr = np.arange(len(own) + 1)
        graphs.append(Graph(f"{name} {g}", inside, own, indptr, own, count, nothing, nothing, nothing))
    return GraphSet(name, tuple(graphs), arrays["graph_labels"].astype(np.int64))


def series_of(name: str, arrays: NamedArrays) -> Series:
    """The series of two columns."""
    return Series(name, arrays["times"], arrays["values"])


def point_cloud_of(name: str, arrays: NamedArrays) -> PointCloud:
    """The points as they are."""
    return PointCloud(name, arrays["points"])


def volume_of(name: str, arrays: NamedArrays) -> Volume:
    """The volume of bytes, over 255, or of Hounsfield units as they are."""
    values = arrays["values"]
    scale = 255 if values.dtype == np.uint8 else 1
    return Volume(name, np.divide(values, scale, dtype=np.float32), arrays["spacing"])


# Zachary 1977: for each member of a karate club, numbered from 1, the later ones whom he met outside the club; and
# those who stayed with the instructor when the club split.
_MEETINGS = """
1: 2 3 4 5 6 7 8 9 11 12 13 14 18 20 22 32
2: 3 4 8 14 18 20 22 31
3: 4 8 9 10 14 28 29 33
4: 8 13 14
5: 7 11
6: 7 11 17
7: 17
9: 31 33 34
10: 34
14: 34
15: 33 34
16: 33 34
19: 33 34
20: 34
21: 33 34
23: 33 34
24: 26 28 30 33 34
25: 26 28 32
26: 32
27: 30 34
28: 34
29: 32 34
30: 33 34
31: 33 34
32: 33 34
33: 34
"""
_INSTRUCTORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22)


def karate_club() -> NamedArrays:
    """Zachary's karate club: 34 members, 78 friendships; the label is 0 for the instructor's part, 1 for the other."""
    lines = (line.split(":") for line in _MEETINGS.split("\n") if line)
    edges = [(int(one) - 1, int(other) - 1) for one, others in lines for other in others.split()]
    labels = np.array([member not in _INSTRUCTORS for member in range(1, 35)], np.int16)
    nothing = np.zeros(0, np.int32)
    features = {"feature_indptr": np.arange(35), "feature_indices": np.arange(34), "feature_count": np.array(34)}
    split = {"train": np.array([0, 33]), "validation": nothing, "test": np.arange(1, 33)}
    return NamedArrays({"edges": np.array(edges), "labels": labels, **features, **split})
