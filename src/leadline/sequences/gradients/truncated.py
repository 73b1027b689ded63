"""Truncated backpropagation through time: consecutive windows with a carried state, and random chunks."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from leadline.training import RowLosses

from .state_vectors import Step, state_vectors


def truncated_trajectory(step: Step, start: PyTree, inputs: PyTree, window: int) -> Float[Array, "steps m"]:
    """The states z_1, ..., z_T as vectors, with gradients that stop where windows of `window` steps meet.

    The numbers are those of one long pass; what is differentiated through them is the truncated gradient.

    >>> def last(w):
    ...     return truncated_trajectory(lambda z, x: w * z + x, jnp.zeros(1), jnp.ones((4, 1)), 2)[-1, 0]
    >>> float(jax.grad(last)(0.5)), float(jax.grad(lambda w: 1 + w * (1 + w * (1 + w)))(0.5))
    (2.5, 2.75)
    """
    if window < 1:
        raise ValueError(f"truncated_trajectory got window={window}; give 1 or more.")
    on_vectors, z = state_vectors(step, start)

    def move(z: Array, at: tuple) -> tuple[Array, Array]:
        t, x = at
        moved = on_vectors(jnp.where(t % window == 0, jax.lax.stop_gradient(z), z), x)
        return moved, moved

    times = jnp.arange(len(jax.tree.leaves(inputs)[0]))
    return jax.lax.scan(move, z, (times, inputs))[1]


class Windows(NamedTuple):
    """Consecutive windows of sequences, in the order of time along the first axis.

    `values` are the sequences' arrays, (windows, n, k, ...); `mask` says which steps are no padding of the last window;
    `fresh` is true in the first window, where states start anew.
    """

    values: PyTree
    mask: Bool[Array, "windows n k"]
    fresh: Bool[Array, " windows"]


def consecutive_windows(sequences: PyTree, window: int) -> Windows:
    """Cut arrays (n, T, ...) into windows 1..k, k+1..2k, ...; the last is padded with zeros and masked.

    >>> cut = consecutive_windows(np.arange(5.0)[None], 2)
    >>> cut.values[:, 0].tolist(), cut.mask[:, 0].tolist()
    ([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]], [[True, True], [True, True], [True, False]])
    """
    rows, length = _extent(sequences, window)
    count = -(-length // window)

    def cut(array: Any) -> Array:
        array = jnp.asarray(array)
        padded = jnp.pad(array, [(0, 0), (0, count * window - length)] + [(0, 0)] * (array.ndim - 2))
        return jnp.moveaxis(padded.reshape(rows, count, window, *array.shape[2:]), 1, 0)

    mask = cut(jnp.ones((rows, length), bool))
    return Windows(jax.tree.map(cut, sequences), mask, jnp.arange(count) == 0)


def random_chunks(
    sequences: PyTree, window: int, count: int, *, key: PRNGKeyArray
) -> tuple[PyTree, Int[Array, "count 2"]]:
    """`count` pieces of `window` steps from arrays (n, T, ...), and their (row, offset): uniform over all that fit.

    >>> pieces, places = random_chunks(np.arange(10.0)[None], 4, 3, key=jax.random.key(0))
    >>> pieces.shape, bool((pieces[:, 0] == places[:, 1]).all()), int(places[:, 1].max()) <= 6
    ((3, 4), True, True)
    """
    rows, length = _extent(sequences, window)
    if window > length:
        raise ValueError(f"random_chunks got window={window} for sequences of {length} steps; give 1 to that number.")
    of_row, of_offset = jax.random.split(key)
    row = jax.random.randint(of_row, (count,), 0, rows)
    offset = jax.random.randint(of_offset, (count,), 0, length - window + 1)
    pieces = jax.tree.map(
        lambda array: jnp.asarray(array)[row[:, None], offset[:, None] + np.arange(window)], sequences
    )
    return pieces, jnp.stack([row, offset], axis=1)


class CarriedWindows(eqx.Module):
    """The objective of stateful truncation, for `training.scan_steps` over `consecutive_windows(...)`.

    A batch is (inputs and targets (n, k, ...), mask, fresh) of one window; the state is that of the n cells. It is
    carried forward without gradient and set to `init()` where a window is fresh: the forward range is unbounded, the
    gradient's is k. `loss` takes one prediction and one target.
    """

    loss: Callable[[Any, Any], Float[Array, ""]]
    carried: bool = eqx.field(static=True, default=True)  # False: every window starts anew, as random chunks do

    def __call__(self, cell: Any, batch: Windows, key: Any, state: PyTree) -> tuple[RowLosses, PyTree]:
        (inputs, targets), mask, fresh = batch
        first = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(mask), *jnp.shape(leaf))), cell.init())
        begin = fresh | (not self.carried)
        state = jax.tree.map(lambda new, old: jnp.where(begin, new, jax.lax.stop_gradient(old)), first, state)

        def row(state: PyTree, x: PyTree, y: PyTree) -> tuple[PyTree, Array]:
            def move(state: PyTree, at: tuple) -> tuple[PyTree, Array]:
                state = cell.update(state, at[0])
                return state, self.loss(cell.predict(state), at[1])

            return jax.lax.scan(move, state, (x, y))

        state, losses = jax.vmap(row)(state, inputs, targets)
        return RowLosses(losses, mask), jax.lax.stop_gradient(state)


def _extent(sequences: PyTree, window: int) -> tuple[int, int]:
    """Rows and steps of the sequences."""
    shapes = {jnp.shape(leaf)[:2] for leaf in jax.tree.leaves(sequences)}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise ValueError(f"The sequences have the first axes {sorted(shapes)}; give arrays (n, T, ...) of one n and T.")
    if window < 1:
        raise ValueError(f"A window of {window} steps is none; give 1 or more.")
    rows, steps = next(iter(shapes))
    return rows, steps
