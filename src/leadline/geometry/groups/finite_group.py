"""Finite groups as Cayley tables that are checked when they are made."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

Table = Int[np.ndarray, "n n"]


class TableFault(NamedTuple):
    """The first axiom of a group that a table breaks, and the elements at which it does."""

    axiom: str  #: "closure", "identity", "inverse" or "associativity"
    elements: tuple[int, ...]  #: (g, h): gh is no element; (g,): without inverse; (g, a, h): (ga)h is not g(ah)

    def __str__(self) -> str:
        at = ", ".join(map(str, self.elements))
        return f"{self.axiom} fails" + (f" at ({at})" if self.elements else "")


def table_fault(table: Any) -> TableFault | None:
    """The first axiom that a table of products breaks, or None if it is the table of a group.

    `table[g, h]` is gh, elements are 0 to n - 1. Associativity is decided by Light's test: the elements a with
    (ga)h = g(ah) for all g, h are closed under products, so that it is enough to look at generators (Clifford and
    Preston 1961, section 1.2). Where it fails, the triple is the first with a generator in the middle.

    >>> table_fault([[0, 1], [1, 0]]) is None
    True
    >>> str(table_fault([[0, 1, 2], [1, 0, 2], [2, 2, 0]]))  # (1 1) 2 = 2, 1 (1 2) = 2, but (1 2) 2 = 0, 1 (2 2) = 1
    'associativity fails at (1, 2, 2)'
    """
    table = np.asarray(table)
    n = len(table)
    if table.ndim != 2 or table.shape != (n, n) or not n or table.dtype.kind not in "iu":
        raise ValueError(
            f"A table of products has one row and column of integers for each element; got {table.dtype} of shape "
            f"{table.shape}."
        )
    outside = np.argwhere((table < 0) | (table >= n))
    if len(outside):
        return TableFault("closure", _at(outside[0]))
    unit = _identity(table)
    if unit is None:
        return TableFault("identity", ())
    inverse = (table == unit) & (table == unit).T  # gh = hg = e
    without = np.flatnonzero(~inverse.any(1))
    if len(without):
        return TableFault("inverse", (int(without[0]),))
    for a in generators_of(table):
        wrong = np.argwhere(table[table[:, a]] != table[:, table[a]])  # (ga)h against g(ah)
        if len(wrong):
            g, h = _at(wrong[0])
            return TableFault("associativity", (g, a, h))
    return None


def generators_of(table: Table) -> tuple[int, ...]:
    """Elements whose products are all elements: the first that is not yet a product, and so on.

    >>> generators_of(np.add.outer(range(6), range(6)) % 6)
    (1,)
    """
    unit = _identity(table)
    reached = np.zeros(len(table), bool) if unit is None else np.arange(len(table)) == unit
    chosen: list[int] = []
    while not reached.all():
        chosen.append(int(np.argmin(reached)))
        reached[chosen[-1]] = True
        reached = _closed(table, reached)
    return tuple(chosen)


def _closed(table: Table, reached: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """All products of products of the elements reached."""
    while True:
        members = np.flatnonzero(reached)
        grown = reached.copy()
        grown[table[np.ix_(members, members)]] = True
        if grown.sum() == reached.sum():
            return reached
        reached = grown


def _identity(table: Table) -> int | None:
    every = np.arange(len(table))
    found = np.flatnonzero((table == every).all(1) & (every == table.T).all(1))
    return int(found[0]) if len(found) else None


def _at(index: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in index)


@dataclass(frozen=True, eq=False)
class FiniteGroup:
    """A finite group: `table[g, h]` is the product gh. A table that is none is refused, with the axiom it breaks.

    >>> clock = FiniteGroup("hours", np.add.outer(range(12), range(12)) % 12)
    >>> clock.order, clock.identity, int(clock.inverses[5]), clock.is_abelian
    (12, 0, 7, True)
    """

    name: str
    table: Any
    names: Sequence[str] = field(default=(), repr=False)  #: of the elements; numbers if not given

    def __post_init__(self):
        fault = table_fault(self.table)
        if fault is not None:
            raise ValueError(f"The table of '{self.name}' is no group: {fault}; correct it (table_fault says where).")
        table = np.array(self.table, dtype=np.int64)
        table.setflags(write=False)
        object.__setattr__(self, "table", table)
        names = tuple(self.names) or tuple(map(str, range(len(table))))
        if len(names) != len(table):
            raise ValueError(f"{self.name} has {len(table)} elements and {len(names)} names; give one for each.")
        object.__setattr__(self, "names", names)

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.table)

    @cached_property
    def identity(self) -> int:
        """The element e with eg = ge = g."""
        return int(_identity(self.table) or 0)

    @cached_property
    def inverses(self) -> Int[np.ndarray, " n"]:
        """g⁻¹ of every g."""
        return np.argmax(self.table == self.identity, axis=1)

    @cached_property
    def generators(self) -> tuple[int, ...]:
        """Elements of whose products the group consists."""
        return generators_of(self.table)

    @property
    def is_abelian(self) -> bool:
        """Whether gh = hg for all g and h."""
        return bool((self.table == self.table.T).all())

    @cached_property
    def classes(self) -> Int[np.ndarray, " n"]:
        """The number of the conjugacy class {hgh⁻¹} of every g, counted from 0 in order of their first elements."""
        every = np.arange(self.order)
        conjugates = self.table[self.table, self.inverses[:, None]]  # [h, g] = h g h⁻¹
        first = np.minimum.reduce(conjugates, axis=0)
        return np.searchsorted(np.unique(first), first) if len(every) else every
