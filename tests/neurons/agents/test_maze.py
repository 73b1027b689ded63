import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import data
from leadline.neurons import agents
from leadline.neurons.agents.maze import maze_walk, stored_path

STEPS = [(-1, 0), (0, 1), (1, 0), (0, -1)]


def mouse(passages, memory, start, goal, cap):
    """The same mouse as a plain Python loop over single tries."""
    memory, visited, cell, path, hits = np.array(memory), set(), start, [start], 0
    while cell != goal and len(path) <= cap:
        exit = memory[cell] + (cell in visited)
        visited.add(cell)
        while not passages[(*cell, exit % 4)]:
            exit, hits = exit + 1, hits + 1
        memory[cell] = exit % 4
        cell = (cell[0] + STEPS[exit % 4][0], cell[1] + STEPS[exit % 4][1])
        path.append(cell)
    return memory, path, hits


@pytest.mark.parametrize("seed", range(4))
def test_the_run_equals_a_plain_python_mouse(seed):
    keys = jax.random.split(jax.random.key(seed))
    maze = data.random_maze(5, 7, loops=0.15 * seed, key=keys[0])
    memory = jax.random.randint(keys[1], (5, 7), 0, 4)
    run = agents.maze_run(maze.passages, memory, start=(4, 0), goal=(0, 6))
    expected, path, hits = mouse(maze.passages, memory, (4, 0), (0, 6), 10000)
    assert bool(run.reached)
    assert int(run.moves) == len(path) - 1
    assert int(run.wall_hits) == hits
    np.testing.assert_array_equal(run.memory, expected)
    walk = maze_walk(maze.passages, memory, start=(4, 0), moves=len(path) - 1)
    assert [tuple(cell) for cell in walk.tolist()] == path
    assert int(run.visits.sum()) == int(run.moves)


@pytest.mark.parametrize("loops", [0.0, 0.3, 1.0])
def test_the_second_run_follows_the_loop_erased_first_run(loops):
    for seed in range(5):
        maze = data.random_maze(6, 6, loops=loops, key=jax.random.key(seed))
        first = agents.maze_run(maze.passages, jnp.zeros((6, 6), int), start=(5, 0), goal=(0, 5))
        walk = maze_walk(maze.passages, jnp.zeros((6, 6), int), start=(5, 0), moves=int(first.moves))
        path = stored_path(first.memory, start=(5, 0), goal=(0, 5))
        assert path == agents.loop_erased(walk)
        second = agents.maze_run(maze.passages, first.memory, start=(5, 0), goal=(0, 5))
        assert int(second.moves) == len(path) - 1
        assert int(second.wall_hits) == 0
        np.testing.assert_array_equal(second.memory, first.memory)


def test_a_mouse_without_a_path_gives_up_at_its_cap():
    corridor = np.zeros((1, 4, 4), bool)
    corridor[0, 0, 1] = corridor[0, 1, 3] = True
    run = agents.maze_run(corridor, np.zeros((1, 4), int), start=(0, 0), goal=(0, 3), cap=50)
    assert not bool(run.reached)
    assert int(run.moves) == 50
    walled = agents.maze_run(np.zeros((1, 2, 4), bool), np.zeros((1, 2), int), start=(0, 0), goal=(0, 1))
    assert not bool(walled.reached)


def test_exits_that_run_in_a_circle_are_no_path():
    assert stored_path(np.array([[1, 3, 0]]), start=(0, 0), goal=(0, 2)) is None
    assert stored_path(np.array([[0, 0]]), start=(0, 0), goal=(0, 1)) is None


def test_a_start_outside_the_maze_is_refused():
    with pytest.raises(ValueError, match=r"start .* outside"):
        agents.maze_run(np.ones((2, 2, 4), bool), np.zeros((2, 2), int), start=(2, 0), goal=(0, 0))
