"""Cells that are linear in their state: their steps are a prefix product, which can be taken in parallel."""

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Inexact, Num

from ..linear_recurrences.diagonal_recurrence import fastest_here, linear_recurrence
from .cell import Cell, Course, at_end


class LinearCell(Cell):
    """A cell whose `project(x)` is a pair (a, b) and whose update is z' = a ⊙ z + b; z may be complex."""

    @abc.abstractmethod
    def project(self, x: Num[Array, " n"]) -> tuple[Inexact[Array, " m"], Inexact[Array, " m"]]:
        """The factor a and the summand b of the step."""

    def maps(
        self, xs: Num[Array, "T n"], mask: Bool[Array, " T"] | None
    ) -> tuple[Inexact[Array, "T m"], Inexact[Array, "T m"]]:
        """a and b of every step; those of a step that does not count, 1 and 0, leave the state as it is."""
        a, b = jax.vmap(self.project)(xs)
        return (a, b) if mask is None else (jnp.where(mask[:, None], a, 1), jnp.where(mask[:, None], b, 0))

    def advance(
        self, state: Inexact[Array, " m"], projected: tuple[Inexact[Array, " m"], Inexact[Array, " m"]]
    ) -> Inexact[Array, " m"]:
        a, b = projected
        return a * state + b

    def course(
        self,
        xs: Num[Array, "T n"],
        state: Inexact[Array, " m"],
        mask: Bool[Array, " T"] | None,
        reverse: bool,
        parallel: bool | None,
    ) -> Course:
        if not (fastest_here() == "scan" if parallel is None else parallel):
            return super().course(xs, state, mask, reverse, None)
        states = linear_recurrence(*self.maps(xs, mask), state, by="scan", reverse=reverse)
        return Course(states, at_end(states, reverse))
