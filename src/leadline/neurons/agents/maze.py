"""Shannon's mouse Theseus: a maze learned by remembering, in every cell, the direction of the last exit."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Int

from leadline.data.generators.mazes import DIRECTIONS


class MazeRun(NamedTuple):
    """How a run went: the exits remembered after it, moves made, walls hit, visits per cell, whether it arrived."""

    memory: Int[Array, "rows columns"]
    moves: Int[Array, ""]
    wall_hits: Int[Array, ""]
    visits: Int[Array, "rows columns"]
    reached: Bool[Array, ""]


class _State(NamedTuple):
    memory: Array
    visits: Array
    cell: Array
    moves: Array
    wall_hits: Array


def maze_run(
    passages: Bool[Array | np.ndarray, "rows columns 4"],
    memory: Int[Array | np.ndarray, "rows columns"],
    *,
    start: tuple[int, int] | Int[Array, "2"],
    goal: tuple[int, int] | Int[Array, "2"],
    cap: int | None = None,
) -> MazeRun:
    """Let the mouse run once from start to goal, learning as it goes.

    On its first visit to a cell in this run the mouse tries the exit remembered there, on every later visit the one
    after it; a wall turns it clockwise to the next. It remembers the exit it took. This is a rotor walk, so it arrives
    within 2 · passages · diameter moves if there is a path at all (Yanovski, Wagner and Bruckstein 2003); `cap`
    defaults to a larger number that needs no search, 4 · (rows · columns)², and `reached` is False when it runs out.
    Last exits never form a loop, so the next run is free of detours.

    >>> corridor = np.zeros((1, 4, 4), bool)
    >>> corridor[0, :-1, 1] = corridor[0, 1:, 3] = True
    >>> run = maze_run(corridor, jnp.zeros((1, 4), int), start=(0, 0), goal=(0, 3))
    >>> int(run.moves), int(run.wall_hits), run.memory.tolist()
    (3, 3, [[1, 1, 1, 0]])
    """
    passages, memory = jnp.asarray(passages), jnp.asarray(memory)
    cap = 4 * memory.size**2 if cap is None else cap
    return _run(passages, memory, _cell(start, memory, "start"), _cell(goal, memory, "goal"), jnp.asarray(cap))


def maze_walk(
    passages: Bool[Array | np.ndarray, "rows columns 4"],
    memory: Int[Array | np.ndarray, "rows columns"],
    *,
    start: tuple[int, int],
    moves: int,
) -> Int[Array, "cells 2"]:
    """The cells that `maze_run` visits in its first `moves` moves, start included (moves + 1 of them)."""
    return _walk(jnp.asarray(passages), jnp.asarray(memory), _cell(start, memory, "start"), moves)


def stored_path(
    memory: Int[Array | np.ndarray, "rows columns"], *, start: tuple[int, int], goal: tuple[int, int]
) -> list[tuple[int, int]] | None:
    """The cells met by following remembered exits from start to goal; None if they run in a loop or leave the maze."""
    exits = np.asarray(memory)
    begin, end = (start[0], start[1]), (goal[0], goal[1])
    path, seen = [begin], {begin}
    while path[-1] != end:
        row, column = path[-1]
        step = DIRECTIONS[exits[row, column]]
        cell = (int(row + step[0]), int(column + step[1]))
        if cell in seen or not (0 <= cell[0] < exits.shape[0] and 0 <= cell[1] < exits.shape[1]):
            return None
        path.append(cell)
        seen.add(cell)
    return path


def loop_erased(cells: Int[Array | np.ndarray, "n 2"]) -> list[tuple[int, int]]:
    """A walk with its loops cut out in the order in which they close.

    >>> loop_erased(np.array([[0, 0], [0, 1], [1, 1], [0, 1], [0, 2]]))
    [(0, 0), (0, 1), (0, 2)]
    """
    path: list[tuple[int, int]] = []
    for cell in map(tuple, np.asarray(cells).tolist()):
        if cell in path:
            del path[path.index(cell) :]
        path.append(cell)
    return path


def _cell(cell, memory, name: str) -> Array:
    cell = jnp.asarray(cell)
    if not isinstance(cell, Tracer):
        rows, columns = np.shape(memory)[-2:]
        if not (0 <= int(cell[0]) < rows and 0 <= int(cell[1]) < columns):
            raise ValueError(f"The {name} {tuple(cell.tolist())} lies outside the maze of {rows} x {columns} cells.")
    return cell


def _begin(memory: Array, start: Array) -> _State:
    zero = jnp.zeros((), int)
    return _State(memory, jnp.zeros_like(memory), start, zero, zero)


def _move(passages: Array, state: _State) -> _State:
    row, column = state.cell
    again = state.visits[row, column] > 0
    exits = (state.memory[row, column] + again + jnp.arange(4)) % 4  # in the order in which they are tried
    is_open = passages[row, column, exits]
    tries = jnp.argmax(is_open)  # a walled-in cell has none: then the mouse stays
    stuck = ~is_open.any()
    taken = exits[tries]
    return _State(
        state.memory.at[row, column].set(jnp.where(stuck, state.memory[row, column], taken)),
        state.visits.at[row, column].add(1),
        jnp.where(stuck, state.cell, state.cell + jnp.asarray(DIRECTIONS)[taken]),
        state.moves + 1,
        state.wall_hits + jnp.where(stuck, 4, tries),
    )


@jax.jit
def _run(passages: Array, memory: Array, start: Array, goal: Array, cap: Array) -> MazeRun:
    def running(state):
        return (state.cell != goal).any() & (state.moves < cap)

    end = jax.lax.while_loop(running, partial(_move, passages), _begin(memory, start))
    return MazeRun(end.memory, end.moves, end.wall_hits, end.visits, (end.cell == goal).all())


@partial(jax.jit, static_argnames="moves")
def _walk(passages: Array, memory: Array, start: Array, moves: int) -> Array:
    def step(state, _):
        state = _move(passages, state)
        return state, state.cell

    _, cells = jax.lax.scan(step, _begin(memory, start), length=moves)
    return jnp.concatenate([start[None], cells])
