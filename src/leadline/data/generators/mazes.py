"""Rectangular mazes as pure functions of a key."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, PRNGKeyArray

from ..randomness import generator

#: Row and column steps of the four directions north, east, south, west.
DIRECTIONS = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])


class Maze(NamedTuple):
    """`passages[row, column, direction]` is True where one can walk; directions are north, east, south, west."""

    passages: Bool[np.ndarray, "rows columns 4"]

    def distances(self, cell: tuple[int, int]) -> np.ndarray:
        """Moves on a shortest path from `cell` to every cell, infinite where there is no path."""
        from scipy.sparse.csgraph import dijkstra

        rows, columns = self.passages.shape[:2]
        index = cell[0] * columns + cell[1]
        return dijkstra(_adjacency(self.passages), unweighted=True, indices=index).reshape(rows, columns)

    def passage_count(self) -> int:
        """Number of open passages between neighbouring cells."""
        return int(self.passages.sum()) // 2


def random_maze(rows: int, columns: int, *, loops: float = 0.0, key: PRNGKeyArray) -> Maze:
    """A connected maze: the minimum spanning tree of the grid under random weights, then more walls opened.

    Each wall that the tree leaves is opened with probability `loops`: 0 gives a perfect maze (one path between any two
    cells), 1 an empty room.

    >>> import jax
    >>> maze = random_maze(4, 5, key=jax.random.key(0))
    >>> maze.passages.shape, maze.passage_count()
    ((4, 5, 4), 19)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    if rows < 1 or columns < 1 or not 0 <= loops <= 1:
        raise ValueError(f"Got {rows} x {columns} cells and loops = {loops}; need at least 1 x 1 and loops in [0, 1].")
    random = generator(key)
    cells = np.arange(rows * columns).reshape(rows, columns)
    walls = np.concatenate(
        [
            np.stack([cells[:-1].ravel(), cells[1:].ravel()], 1),
            np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], 1),
        ]
    )
    weights = 1 + random.random(len(walls))  # bounded away from 0, which SciPy would read as no edge
    extra = walls[random.random(len(walls)) < loops]
    tree = minimum_spanning_tree(coo_array((weights, walls.T), shape=(cells.size, cells.size))).tocoo()
    passages = np.zeros((rows, columns, 4), bool)
    for first, second in [*zip(tree.row, tree.col, strict=True), *extra]:
        _set(passages, divmod(int(first), columns), divmod(int(second), columns), True)
    return Maze(passages)


def move_wall(maze: Maze, cell: tuple[int, int], direction: int, *, key: PRNGKeyArray) -> Maze:
    """Close one passage and, if that cuts the maze in two, open a random other wall that joins the parts again.

    If no other wall lies between the parts (a corridor, say) the maze stays cut.
    """
    if not maze.passages[cell[0], cell[1], direction]:
        raise ValueError(f"There is a wall already at cell {cell}, direction {direction}; choose an open passage.")
    passages = maze.passages.copy()
    neighbour = tuple(int(x) for x in np.add(cell, DIRECTIONS[direction]))
    _set(passages, cell, neighbour, False)
    here = np.isfinite(Maze(passages).distances(cell))
    if here[neighbour]:
        return Maze(passages)
    rows, columns = here.shape
    candidates = [
        (side, other)
        for side in zip(*np.nonzero(here), strict=True)
        for other in (tuple(np.add(side, step)) for step in DIRECTIONS)
        if 0 <= other[0] < rows
        and 0 <= other[1] < columns
        and not here[other]
        and (side, other) != (tuple(cell), neighbour)
    ]
    if candidates:
        random = generator(key)
        _set(passages, *candidates[random.integers(len(candidates))], True)
    return Maze(passages)


def _set(passages: np.ndarray, first: tuple, second: tuple, is_open: bool) -> None:
    step = np.subtract(second, first)
    direction = int(np.nonzero((step == DIRECTIONS).all(1))[0][0])
    passages[(*first, direction)] = is_open
    passages[(*second, (direction + 2) % 4)] = is_open


def _adjacency(passages: np.ndarray):
    from scipy.sparse import coo_array

    rows, columns = passages.shape[:2]
    row, column, direction = np.nonzero(passages)
    start = row * columns + column
    end = (row + DIRECTIONS[direction, 0]) * columns + column + DIRECTIONS[direction, 1]
    return coo_array((np.ones(len(start)), (start, end)), shape=(rows * columns,) * 2).tocsr()
