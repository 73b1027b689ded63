"""Actions of a group on finitely many points: the law checked, orbits and stabilisers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int

from .finite_group import FiniteGroup


def action_fault(group: FiniteGroup, moves: Any) -> tuple[int, int, int] | None:
    """The first (g, h, x) at which g.(h.x) is not (gh).x, or None; `moves[g, x]` is g.x. e.x = x follows from (e, e).

    >>> from leadline.geometry import cyclic_group
    >>> action_fault(cyclic_group(2), [[0, 1, 2], [1, 0, 2]]) is None
    True
    >>> action_fault(cyclic_group(2), [[0, 1, 2], [1, 2, 0]])
    (1, 1, 0)
    """
    moves = np.asarray(moves)
    points = moves.shape[-1]
    if moves.ndim != 2 or len(moves) != group.order or moves.min() < 0 or moves.max() >= points:
        raise ValueError(
            f"An action of {group.order} elements on points is a table of that many rows of points 0 to n - 1; got "
            f"shape {moves.shape}."
        )
    if (moves[group.identity] != np.arange(points)).any():
        wrong = int(np.argmax(moves[group.identity] != np.arange(points)))
        return group.identity, group.identity, wrong
    for g in range(group.order):
        wrong = np.argwhere(moves[g][moves] != moves[group.table[g]])  # (h, x)
        if len(wrong):
            return g, int(wrong[0, 0]), int(wrong[0, 1])
    return None


@dataclass(frozen=True, eq=False)
class GroupAction:
    """A group that moves finitely many points: `moves[g, x]` is g.x; tables that break g.(h.x) = (gh).x are refused.

    >>> from leadline.geometry import cyclic_group
    >>> halves = GroupAction(cyclic_group(2), [[0, 1, 2, 3], [1, 0, 2, 3]])
    >>> halves.orbits.tolist(), halves.stabiliser(2).tolist()
    ([0, 0, 1, 2], [0, 1])
    """

    group: FiniteGroup
    moves: Any

    def __post_init__(self):
        fault = action_fault(self.group, self.moves)
        if fault is not None:
            g, h, x = fault
            raise ValueError(f"No action of {self.group.name}: {g}.({h}.{x}) is not ({g}·{h}).{x}; correct the table.")
        object.__setattr__(self, "moves", np.array(self.moves, dtype=np.int64))

    @cached_property
    def orbits(self) -> Int[np.ndarray, " points"]:
        """The number of the orbit {g.x} of every point x, counted from 0."""
        first = self.moves.min(axis=0)
        return np.searchsorted(np.unique(first), first)

    def stabiliser(self, point: int) -> Int[np.ndarray, " k"]:
        """The elements g with g.x = x; |orbit| · |stabiliser| = |G| (Lagrange)."""
        return np.flatnonzero(self.moves[:, point] == point)

    def on_pairs(self, other: "GroupAction") -> "GroupAction":
        """The action on pairs, g.(x, y) = (g.x, g.y); the pair has the number x·|Y| + y."""
        pairs = self.moves[:, :, None] * other.moves.shape[1] + other.moves[:, None, :]
        return GroupAction(self.group, pairs.reshape(self.group.order, -1))


def left_translation(group: FiniteGroup) -> GroupAction:
    """The group acting on itself, g.h = gh."""
    return GroupAction(group, group.table)
