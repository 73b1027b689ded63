"""A recurrent network as a feedforward one: a copy of the cell for each step, and its gradient with little memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Num, PyTree

from ..cells.cell import Cell, Course, run


class Unrolled(eqx.Module):
    """T copies of a cell, one for each step, each with weights of its own: a feedforward network of T layers.

    Every array of `copies` has a leading axis over the copies. At equal copies the gradient of a loss with respect to
    copy t is the part of step t in the gradient of the cell: the sum over copies is the cell's.

    >>> from leadline.sequences import Elman
    >>> cell = Elman(2, 3, key=jax.random.key(0))
    >>> layers = unroll(cell, 5)
    >>> xs = jnp.ones((5, 2))
    >>> bool((layers(xs).last == run(cell, xs).last).all()), layers.copies.recurrent_weight.shape
    (True, (5, 3, 3))
    """

    copies: Cell

    def __call__(self, xs: Num[Array, "T n"], state: PyTree = None) -> Course:
        arrays, rest = eqx.partition(self.copies, eqx.is_inexact_array)
        steps = len(jax.tree.leaves(arrays)[0])
        if len(xs) != steps:
            raise ValueError(f"A network unrolled over {steps} steps got {len(xs)} inputs; give as many.")
        if state is None:
            state = eqx.combine(jax.tree.map(lambda a: a[0], arrays), rest).init()

        def layer(state: PyTree, given: tuple[PyTree, Array]) -> tuple[PyTree, PyTree]:
            own, x = given
            after = eqx.combine(own, rest).update(state, x)
            return after, after

        last, states = jax.lax.scan(layer, state, (arrays, xs))
        return Course(states, last)


def unroll(cell: Cell, length: int) -> Unrolled:
    """The feedforward network of `length` layers that a cell is on so many inputs, with the weights no longer tied."""
    if length < 1:
        raise ValueError(f"unroll got {length} steps; give 1 or more.")
    arrays, rest = eqx.partition(cell, eqx.is_inexact_array)
    copies = jax.tree.map(lambda a: jnp.broadcast_to(a, (length, *a.shape)), arrays)
    return Unrolled(eqx.combine(copies, rest))


def last_state(cell: Cell, xs: Num[Array, "T n"], state: PyTree = None, *, every: int | None = None) -> PyTree:
    """The state after a sequence, whose gradient keeps only every `every`-th state, k for short, and computes the rest.

    So T/k + k states are held in place of T, least at k = √T, at the price of a second forward pass (Chen et al. 2016;
    Griewank 1992 for more levels). Without `every` it is `run(cell, xs).last`.

    >>> from leadline.sequences import GRU
    >>> cell, xs = GRU(2, 3, key=jax.random.key(0)), jnp.ones((10, 2))
    >>> bool((last_state(cell, xs, every=4) == run(cell, xs).last).all())
    True
    """
    state = cell.init() if state is None else state
    if every is None:
        return run(cell, xs, state).last
    if not 1 <= every <= len(xs):
        raise ValueError(f"last_state got every={every} for {len(xs)} steps; give 1 to {len(xs)}.")
    whole = len(xs) // every * every
    segments = xs[:whole].reshape(-1, every, xs.shape[1])
    arrays, rest = eqx.partition(cell, eqx.is_inexact_array)

    @jax.checkpoint
    def segment(arrays: PyTree, state: PyTree, part: Array) -> PyTree:
        return run(eqx.combine(arrays, rest), part, state).last

    state, _ = jax.lax.scan(lambda s, part: (segment(arrays, s, part), None), state, segments)
    return state if whole == len(xs) else run(cell, xs[whole:], state).last
