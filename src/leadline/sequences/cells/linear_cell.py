"""Cells that are linear in their state: their steps are a prefix product, which is taken in parallel."""

import abc

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Inexact, Num

from leadline._checks import require, require_numbers

from .cell import Cell, Course

Values = Num[Array | np.ndarray, "..."]
Map = tuple[Values, Values] | Num[Array | np.ndarray, "2 ..."]  #: a and b of z -> a z + b


def compose(first: Map, second: Map) -> tuple[Values, Values]:
    """The map z -> a z + b that comes of one and then another: (a₁, b₁) ∘ (a₂, b₂) = (a₁a₂, a₂b₁ + b₂), associative.

    >>> compose((jnp.array([2.0]), jnp.array([1.0])), (jnp.array([3.0]), jnp.array([5.0])))[1].tolist()
    [8.0]
    """
    (a1, b1), (a2, b2) = first, second
    return a1 * a2, a2 * b1 + b2


def recurrence_scan(
    a: Inexact[Array, "T m"], b: Inexact[Array, "T m"], start: Inexact[Array, " m"], *, reverse: bool = False
) -> Inexact[Array, "T m"]:
    """All z_t = a_t ⊙ z_{t-1} + b_t from z_0 = start, by `lax.associative_scan` (Blelloch 1990; Martin, Cundy 2018).

    Depth O(log T), work O(T). With `reverse`, z_t = a_t ⊙ z_{t+1} + b_t from z_{T+1} = start.

    >>> recurrence_scan(jnp.full((4, 1), 0.5), jnp.ones((4, 1)), jnp.zeros(1)).ravel().tolist()
    [1.0, 1.5, 1.75, 1.875]
    """
    require("recurrence_scan", axes=2, a=a, b=b)
    require_numbers("recurrence_scan", start=start)
    edge = -1 if reverse else 0
    b = b.at[edge].add(a[edge] * start)
    return jax.lax.associative_scan(compose, (a, b), reverse=reverse)[1]


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
        if parallel is False:
            return super().course(xs, state, mask, reverse, None)
        states = recurrence_scan(*self.maps(xs, mask), state, reverse=reverse)
        return Course(states, states[0 if reverse else -1])
