"""Two cells over a sequence, one from each end."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Num, PyTree

from .cell import Cell, Course, run


class Bidirectional(Cell):
    """A forward cell over x_{1:t} and a backward cell over x_{t:T}, each with weights of its own; outputs are joined.

    Any two cells with as many inputs. It has no `update`: its output at t needs what comes later, so that it serves
    neither online nor for generation; `run` goes over the whole sequence. With a mask the backward cell begins at the
    last step that counts. The `last` of a run holds the ends of both. Schuster and Paliwal 1997.

    >>> import jax
    >>> from leadline.sequences import GRU
    >>> both = Bidirectional(GRU(3, 4, key=jax.random.key(0)), GRU(3, 4, key=jax.random.key(1)))
    >>> course = run(both, jnp.ones((6, 3)))
    >>> jax.vmap(both.predict)(course.states).shape, both.predict(course.last).shape
    ((6, 8), (8,))
    """

    forward: Cell
    backward: Cell

    def __init__(self, forward: Cell, backward: Cell):
        if forward.input_size != backward.input_size:
            raise ValueError(
                f"Bidirectional got cells with {forward.input_size} and {backward.input_size} inputs; make them equal."
            )
        self.forward, self.backward = forward, backward

    @property
    def input_size(self) -> int:
        return self.forward.input_size

    @property
    def output_size(self) -> int:
        return self.forward.output_size + self.backward.output_size

    def init(self) -> tuple[PyTree, PyTree]:
        return self.forward.init(), self.backward.init()

    def project(self, x: Num[Array, " n"]) -> PyTree:
        raise ValueError(_NEEDS_ALL)

    def advance(self, state: PyTree, projected: PyTree) -> PyTree:
        raise ValueError(_NEEDS_ALL)

    def predict(self, state: tuple[PyTree, PyTree]) -> Num[Array, " k"]:
        return jnp.concatenate([self.forward.predict(state[0]), self.backward.predict(state[1])])

    def course(
        self,
        xs: Num[Array, "T n"],
        state: tuple[PyTree, PyTree],
        mask: Bool[Array, " T"] | None,
        reverse: bool,
        parallel: bool | None,
    ) -> Course:
        there = run(self.forward, xs, state[0], mask=mask, reverse=reverse, parallel=parallel)
        back = run(self.backward, xs, state[1], mask=mask, reverse=not reverse, parallel=parallel)
        return Course((there.states, back.states), (there.last, back.last))


_NEEDS_ALL = (
    "A bidirectional model has no step by step update, because its outputs need later inputs; give run the whole "
    "sequence."
)
