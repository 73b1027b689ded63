"""Cells on top of each other, plainly or in residual blocks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray, PyTree

from leadline.networks import MLP

from .cell import Cell, Course, at_end, held, run


class Stack(Cell):
    """z_{t,l} = F_l(z_{t-1,l}, y_{t,l-1}), y_{t,0} = x_t: the outputs of one cell are the inputs of the next.

    Only outputs pass upwards: of an LSTM h, not c. The output is that of the top. `run` goes layer by layer, each in
    one scan, which gives the states that step by step gives. Layers may be `Bidirectional`, and then all of the
    sequence is needed.

    >>> from leadline.sequences import GRU, LSTM
    >>> stack = Stack((LSTM(3, 8, key=jax.random.key(0)), GRU(8, 5, key=jax.random.key(1))))
    >>> stack.predict(stack.update(stack.init(), jnp.ones(3))).shape
    (5,)
    """

    cells: tuple[Cell, ...]

    def __init__(self, cells: Sequence[Cell]):
        if not cells:
            raise ValueError("Stack got no cells; give at least one.")
        for below, above in pairwise(cells):
            if below.output_size != above.input_size:
                raise ValueError(
                    f"Stack got a cell with {below.output_size} outputs below one with {above.input_size} inputs; "
                    "make them equal."
                )
        self.cells = tuple(cells)

    @property
    def input_size(self) -> int:
        return self.cells[0].input_size

    @property
    def output_size(self) -> int:
        return self.cells[-1].output_size

    def init(self) -> tuple[PyTree, ...]:
        return tuple(cell.init() for cell in self.cells)

    def project(self, x: Num[Array, " n"]) -> PyTree:
        return self.cells[0].project(x)

    def advance(self, state: tuple[PyTree, ...], projected: PyTree) -> tuple[PyTree, ...]:
        first, *above = self.cells
        states = [first.advance(state[0], projected)]
        for cell, below, own in zip(above, self.cells, state[1:], strict=False):
            states.append(cell.update(own, below.predict(states[-1])))
        return tuple(states)

    def predict(self, state: tuple[PyTree, ...]) -> Num[Array, " k"]:
        return self.cells[-1].predict(state[-1])

    def course(
        self,
        xs: Num[Array, "T n"],
        state: tuple[PyTree, ...],
        mask: Bool[Array, " T"] | None,
        reverse: bool,
        parallel: bool | None,
    ) -> Course:
        courses = []
        for cell, own in zip(self.cells, state, strict=True):
            courses.append(run(cell, xs, own, mask=mask, reverse=reverse, parallel=parallel))
            xs = jax.vmap(cell.predict)(courses[-1].states)
        return Course(tuple(c.states for c in courses), tuple(c.last for c in courses))


class BlockState(NamedTuple):
    """The state of the cell inside a block, and what the block put out."""

    inner: PyTree
    output: Float[Array, " n"]


class ResidualBlock(Cell):
    r"""y_t = x_t + MLP(o_t + D ⊙ N(x_t)), o_t the outputs of a cell with inputs N(x_t), N a layer normalisation.

    With an `LRU` inside it is the block of Orvieto et al. 2023; any cell with as many outputs as inputs will do. The
    MLP has one hidden layer of `expansion` times the width, with GELU.

    >>> from leadline.sequences import LRU
    >>> block = ResidualBlock(LRU(4, 16, key=jax.random.key(0)), key=jax.random.key(1))
    >>> run(block, jnp.ones((6, 4))).last.output.shape
    (4,)
    """

    cell: Cell
    norm: eqx.nn.LayerNorm | None
    skip: Float[Array, " n"]
    mixer: MLP

    def __init__(self, cell: Cell, *, normalised: bool = True, expansion: int = 2, key: PRNGKeyArray):
        width = cell.input_size
        if cell.output_size != width:
            raise ValueError(
                f"ResidualBlock got a cell with {width} inputs and {cell.output_size} outputs; make them equal."
            )
        kind = jax.eval_shape(lambda: cell.predict(cell.init())).dtype
        self.cell, self.skip = cell, jnp.ones(width, kind)
        self.norm = eqx.nn.LayerNorm(width, dtype=kind) if normalised else None
        self.mixer = MLP((width, expansion * width, width), "gelu", init="lecun", dtype=kind, key=key)

    @property
    def input_size(self) -> int:
        return self.cell.input_size

    @property
    def output_size(self) -> int:
        return self.cell.output_size

    def init(self) -> BlockState:
        return BlockState(self.cell.init(), jnp.zeros_like(self.skip))

    def project(self, x: Num[Array, " n"]) -> PyTree:
        into = self._normalised(x)
        return x, into, self.cell.project(into)

    def advance(self, state: BlockState, projected: PyTree) -> BlockState:
        x, into, of_cell = projected
        inner = self.cell.advance(state.inner, of_cell)
        return BlockState(inner, self._output(x, into, inner))

    def predict(self, state: BlockState) -> Float[Array, " n"]:
        return state.output

    def course(
        self,
        xs: Num[Array, "T n"],
        state: BlockState,
        mask: Bool[Array, " T"] | None,
        reverse: bool,
        parallel: bool | None,
    ) -> Course:
        into = jax.vmap(self._normalised)(xs)
        inner = run(self.cell, into, state.inner, mask=mask, reverse=reverse, parallel=parallel)
        outputs = held(jax.vmap(self._output)(xs, into, inner.states), state.output, mask, reverse)
        return Course(BlockState(inner.states, outputs), BlockState(inner.last, at_end(outputs, reverse)))

    def _normalised(self, x: Num[Array, " n"]) -> Float[Array, " n"]:
        return x if self.norm is None else self.norm(x)

    def _output(self, x: Num[Array, " n"], into: Float[Array, " n"], inner: PyTree) -> Float[Array, " n"]:
        return x + self.mixer(self.cell.predict(inner) + self.skip * into)
