"""Sublevel sets of a function on a grid: their connected components, and the tree in which these merge as c rises."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

Grid = Num[Array | np.ndarray, "..."]


class SublevelComponents(NamedTuple):
    """The components of {F ≤ c}: how many, the label (1, 2, …; 0 outside) of every grid point, and their sizes."""

    count: int
    labels: Int[np.ndarray, "..."]
    sizes: Int[np.ndarray, " count"]


def sublevel_components(values: Grid, level: float, *, diagonal: bool = False) -> SublevelComponents:
    """Flood fill of {F ≤ c} on a grid of one to three dimensions; neighbours share a face (with `diagonal`, a corner).

    Exact for the grid; two components of the function itself may still touch between its points.

    >>> sublevel_components(np.array([0.0, 2.0, 1.0]), 1.5).labels.tolist()
    [1, 0, 2]
    """
    from scipy.ndimage import label

    values = _checked(values)
    labels, count = label(values <= level, structure=_neighbours(values.ndim, diagonal))
    return SublevelComponents(int(count), np.asarray(labels), np.bincount(labels.ravel(), minlength=count + 1)[1:])


class MergeTree(NamedTuple):
    """One branch for each component that appears, the lowest first: born at a grid point where F = `births`.

    Branch k flows into the older branch `parents[k]` at level `merges[k]`; a branch that meets no other (the first
    one) has parent −1 and merges at ∞. Of two that meet, the one born higher ends.
    """

    births: Float[np.ndarray, " k"]
    merges: Float[np.ndarray, " k"]
    parents: Int[np.ndarray, " k"]
    places: Int[np.ndarray, "k d"]

    @property
    def depths(self) -> Float[np.ndarray, " k"]:
        """merge − birth of each branch: how high the barrier is that closes it off (its persistence)."""
        return self.merges - self.births

    def components(self, level: float | Num[np.ndarray, " c"]) -> Int[np.ndarray, "..."]:
        """How many components {F ≤ c} has, at each level: the branches born by then and not yet merged."""
        c = np.asarray(level, float)[..., None]
        return np.sum((self.births <= c) & (c < self.merges), axis=-1)

    def barrier(self, first: int, second: int) -> float:
        """The least level at which two branches are in one component: min over paths of the largest F on the way."""
        reached = {first: float(self.births[first])}
        level = reached[first]
        while self.parents[first] >= 0:
            level = max(level, float(self.merges[first]))
            first = int(self.parents[first])
            reached[first] = level
        level = float(self.births[second])
        while second not in reached:
            if self.parents[second] < 0:
                return float("inf")
            level = max(level, float(self.merges[second]))
            second = int(self.parents[second])
        return max(level, reached[second])


def merge_tree(values: Grid, *, diagonal: bool = False) -> MergeTree:
    """All components of all sublevel sets of a function on a grid, by one sweep over its points in ascending order.

    Union by the elder rule (Edelsbrunner and Harer 2010, chapter VII). A plateau of equal values is one birth.

    >>> tree = merge_tree(np.array([0.0, 3.0, 1.0, 2.0, 1.5]))
    >>> tree.births.tolist(), tree.merges.tolist(), tree.parents.tolist()
    ([0.0, 1.0, 1.5], [inf, 3.0, 2.0], [-1, 0, 1])
    """
    values = _checked(values)
    shape, flat = values.shape, values.ravel()
    order = np.argsort(flat, kind="stable")
    offsets = np.argwhere(_neighbours(values.ndim, diagonal)) - 1
    offsets = offsets[np.any(offsets != 0, axis=1)]
    coordinates = np.stack(np.unravel_index(order, shape), axis=1)
    beside = coordinates[:, None] + offsets  # (points, neighbours, d)
    inside = np.all((beside >= 0) & (beside < shape), axis=-1)
    index = np.ravel_multi_index(tuple(np.moveaxis(np.where(inside[..., None], beside, 0), -1, 0)), shape)
    neighbours, valid = np.asarray(index).tolist(), inside.tolist()

    root = [-1] * flat.size  # −1: not yet below the level
    elder: dict[int, int] = {}  # root → the grid point where its oldest branch was born
    ended: dict[int, tuple[float, int]] = {}  # birth point → (level, birth point of the branch it flows into)

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    rank = np.empty(flat.size, int)
    rank[order] = np.arange(flat.size)
    age = rank.tolist()
    for i, near, usable in zip(order.tolist(), neighbours, valid, strict=True):
        root[i], elder[i] = i, i
        for j, there in zip(near, usable, strict=True):
            if not there or root[j] < 0:
                continue
            a, b = find(i), find(j)
            if a == b:
                continue
            old, young = (a, b) if age[elder[a]] < age[elder[b]] else (b, a)
            ended[elder[young]] = (float(flat[i]), elder[old])
            root[young] = old
    # A branch that ends at the level of its birth was never a component: a point of a slope or of a plateau.
    real = [p for p in order.tolist() if p not in ended or ended[p][0] > flat[p]]
    number = {p: k for k, p in enumerate(real)}

    def into(p: int) -> int:
        while p not in number:
            p = ended[p][1]
        return number[p]

    merges = np.array([ended[p][0] if p in ended else np.inf for p in real])
    parents = np.array([into(ended[p][1]) if p in ended else -1 for p in real], int)
    places = np.stack(np.unravel_index(real, shape), axis=1)
    return MergeTree(flat[real].astype(float), merges, parents, places)


class GridMinima(NamedTuple):
    """Local minima of a function on a grid: plateaus none of whose neighbours is lower, each as one.

    `levels` ascending; `strict` where the plateau is a single point; `places` is one point of each.
    """

    levels: Float[np.ndarray, " k"]
    strict: Bool[np.ndarray, " k"]
    places: Int[np.ndarray, "k d"]


def local_minima_on(values: Grid, *, lenient: bool = False, diagonal: bool = False) -> GridMinima:
    """Every local minimum of a function on a grid: plateaus surrounded by higher values.

    With `lenient`, also plateaus of at least two points with an interior, a point whose whole neighbourhood has its
    value, though the plateau goes down elsewhere: such a point is a local minimum, and not a strict one.

    >>> local_minima_on(np.array([0.0, 2.0, 1.0, 1.0, 3.0])).levels.tolist()
    [0.0, 1.0]
    >>> stairs = np.array([-1.0, 0.0, 0.0, 0.0])
    >>> local_minima_on(stairs).levels.tolist(), local_minima_on(stairs, lenient=True).levels.tolist()
    ([-1.0], [-1.0, 0.0])
    """
    from scipy.ndimage import label, minimum_filter

    values = _checked(values)
    structure = _neighbours(values.ndim, diagonal)
    lowest = minimum_filter(values, footprint=structure, mode="nearest")
    bottom = values == lowest  # no neighbour is lower: the definition of a local minimum
    found: list[tuple[float, bool, tuple[int, ...]]] = []
    for level in np.unique(values[bottom]):
        plateaus, count = label(values == level, structure=structure)
        for k in range(1, count + 1):
            plateau = plateaus == k
            if bottom[plateau].all() or (lenient and bottom[plateau].any()):
                place = tuple(int(c) for c in np.argwhere(plateau & bottom)[0])
                found.append((float(level), int(plateau.sum()) == 1, place))
    levels, strict, places = zip(*found, strict=True)
    return GridMinima(np.array(levels), np.array(strict), np.array(places, int))


def _neighbours(dimension: int, diagonal: bool) -> np.ndarray:
    from scipy.ndimage import generate_binary_structure

    return generate_binary_structure(dimension, dimension if diagonal else 1)


def _checked(values: Grid) -> np.ndarray:
    values = np.asarray(values)
    if not 1 <= values.ndim <= 3 or values.size == 0:
        raise ValueError(
            f"The grid of values has shape {values.shape}; give a filled array of one to three dimensions "
            "(in more, search for a path: landscape paths show connection, never disconnection)."
        )
    if np.isnan(values).any():
        raise ValueError("The grid holds values that are not numbers; evaluate the function where it is defined.")
    return values
