import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import data
from leadline.data.generators.mazes import move_wall


def reachable(passages, cell):
    """Flood fill, written independently of SciPy's graphs."""
    seen, front = {cell}, [cell]
    steps = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1)}
    while front:
        row, column = front.pop()
        for direction, (down, right) in steps.items():
            other = (row + down, column + right)
            if passages[row, column, direction] and other not in seen:
                seen.add(other)
                front.append(other)
    return seen


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0, 1), st.integers(0, 1000))
def test_a_random_maze_is_connected_and_keeps_inside_its_border(rows, columns, loops, seed):
    maze = data.random_maze(rows, columns, loops=loops, key=jax.random.key(seed))
    assert len(reachable(maze.passages, (0, 0))) == rows * columns
    north, east, south, west = np.moveaxis(maze.passages, 2, 0)
    assert not (north[0].any())
    assert not (south[-1].any())
    assert not (west[:, 0].any())
    assert not (east[:, -1].any())
    np.testing.assert_array_equal(north[1:], south[:-1])
    np.testing.assert_array_equal(west[:, 1:], east[:, :-1])


def test_without_loops_the_maze_is_a_tree_and_with_all_it_is_a_room():
    assert data.random_maze(6, 7, key=jax.random.key(0)).passage_count() == 41
    assert data.random_maze(6, 7, loops=1.0, key=jax.random.key(0)).passage_count() == 6 * 6 + 5 * 7


def test_distances_in_an_empty_room_are_city_block_distances():
    room = data.random_maze(4, 5, loops=1.0, key=jax.random.key(0))
    rows, columns = np.indices((4, 5))
    np.testing.assert_array_equal(room.distances((1, 2)), abs(rows - 1) + abs(columns - 2))


def test_the_same_key_gives_the_same_maze():
    first, second = (data.random_maze(5, 5, key=jax.random.key(3)) for _ in range(2))
    np.testing.assert_array_equal(first.passages, second.passages)


def test_moving_a_wall_of_a_tree_closes_one_passage_and_opens_another():
    maze = data.random_maze(6, 6, key=jax.random.key(1))
    direction = int(np.argmax(maze.passages[0, 0]))
    moved = move_wall(maze, (0, 0), direction, key=jax.random.key(2))
    assert not moved.passages[0, 0, direction]
    assert moved.passage_count() == maze.passage_count() or len(reachable(moved.passages, (0, 0))) == 1
    assert (moved.passages != maze.passages).sum() in (2, 4)


def test_a_cut_corridor_stays_cut():
    corridor = data.random_maze(1, 4, key=jax.random.key(0))
    cut = move_wall(corridor, (0, 1), 1, key=jax.random.key(0))
    assert np.isinf(cut.distances((0, 0))[0, 3])


def test_closing_a_wall_and_an_empty_maze_are_refused():
    corridor = data.random_maze(1, 4, key=jax.random.key(0))
    with pytest.raises(ValueError, match="wall already"):
        move_wall(corridor, (0, 1), 0, key=jax.random.key(0))
    with pytest.raises(ValueError, match="at least 1 x 1"):
        data.random_maze(0, 4, key=jax.random.key(0))
