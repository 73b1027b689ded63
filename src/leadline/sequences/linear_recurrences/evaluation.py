"""A network whose linear cells are computed in another way: the same numbers, by loop, scan, convolution or matrix."""

from typing import TypeVar

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Inexact, Num, PyTree

from ..cells.cell import Cell, Course, at_end
from ..cells.linear_cell import LinearCell
from ..cells.lru import LRU
from .diagonal_recurrence import Way, linear_recurrence

Network = TypeVar("Network", bound=PyTree)


class ComputedBy(Cell):
    """A cell that is linear in its state, run by one of the ways of `linear_recurrence`."""

    cell: LinearCell
    by: Way = eqx.field(static=True)

    def __init__(self, cell: LinearCell, by: Way):
        self.cell, self.by = cell, by

    @property
    def input_size(self) -> int:
        return self.cell.input_size

    @property
    def output_size(self) -> int:
        return self.cell.output_size

    def init(self) -> Inexact[Array, " m"]:
        return self.cell.init()

    def project(self, x: Num[Array, " n"]) -> PyTree:
        return self.cell.project(x)

    def advance(self, state: Inexact[Array, " m"], projected: PyTree) -> Inexact[Array, " m"]:
        return self.cell.advance(state, projected)

    def predict(self, state: Inexact[Array, " m"]) -> Num[Array, " k"]:
        return self.cell.predict(state)

    def course(
        self,
        xs: Num[Array, "T n"],
        state: Inexact[Array, " m"],
        mask: Bool[Array, " T"] | None,
        reverse: bool,
        parallel: bool | None,
    ) -> Course:
        gates, entering = self.cell.maps(xs, mask)
        if mask is None and isinstance(self.cell, LRU):
            gates = self.cell.eigenvalues()  # the same at every step, as a convolution needs
        states = linear_recurrence(gates, entering, state, by=self.by, reverse=reverse)
        return Course(states, at_end(states, reverse))


def computed_by(network: Network, by: Way) -> Network:
    """The network with every linear cell in it (an LRU, a minGRU) computed by a loop, a scan, a convolution, a matrix.

    >>> import jax.numpy as jnp
    >>> from leadline.sequences import sequence_network
    >>> net = sequence_network("lru", 1, 8, 3, depth=2, key=jax.random.key(0))
    >>> xs = jnp.linspace(0, 1, 20)[:, None]
    >>> bool(jnp.allclose(net(xs), computed_by(net, "convolution")(xs), atol=1e-4))
    True
    """

    def replaced(part: PyTree) -> PyTree:
        return ComputedBy(part, by) if isinstance(part, LinearCell) else part

    return jax.tree.map(replaced, network, is_leaf=lambda part: isinstance(part, LinearCell))
