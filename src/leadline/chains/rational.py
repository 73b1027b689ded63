"""Small chains in exact fractions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .finite import FiniteChain

Number = Fraction | int | str | float
Fractions = tuple[Fraction, ...]


@dataclass(frozen=True)
class RationalChain:
    """A chain whose probabilities are fractions; entries are given as "2/5", ".4", 0.4 (read as printed) or integers.

    >>> two = RationalChain([["1/2", "1/2"], [0.4, 0.6]])
    >>> [str(p) for p in two.invariant_law()], [str(t) for t in two.return_times()]
    (['4/9', '5/9'], ['9/4', '9/5'])
    """

    rows: tuple[Fractions, ...]

    def __init__(self, rows: Sequence[Sequence[Number]]):
        exact = tuple(tuple(_fraction(entry) for entry in row) for row in rows)
        for i, row in enumerate(exact):
            if len(row) != len(exact):
                raise ValueError(f"Row {i} has {len(row)} entries for {len(exact)} states; give a square matrix.")
            if min(row) < 0:
                raise ValueError(f"Row {i} has the entry {min(row)}, no probability; give numbers from 0 to 1.")
            if sum(row) != 1:
                raise ValueError(
                    f"Row {i} of the transition matrix sums to {sum(row)}; each row must sum to exactly 1."
                )
        object.__setattr__(self, "rows", exact)

    @property
    def chain(self) -> FiniteChain:
        """The same chain in floating point."""
        return FiniteChain([[float(p) for p in row] for row in self.rows])

    def propagate(self, start: Sequence[Number], num_steps: int = 1) -> Fractions:
        """π^t exactly, from π^{t+1} = Pᵀ π^t."""
        law = tuple(_fraction(p) for p in start)
        for _ in range(num_steps):
            moves = [[p * entry for entry in row] for p, row in zip(law, self.rows, strict=True)]
            law = tuple(sum(column, Fraction(0)) for column in zip(*moves, strict=True))
        return law

    def invariant_law(self) -> Fractions:
        """π exactly; ValueError if it is not unique."""
        size = len(self.rows)
        balance = [[self.rows[i][j] - (i == j) for i in range(size)] + [Fraction(0)] for j in range(size)]
        return solve_exactly([*balance, [Fraction(1)] * (size + 1)])

    def return_times(self) -> Fractions:
        """The mean return times by first-step analysis: exact linear solves, without π."""
        size, found = len(self.rows), []
        for i in range(size):
            others = [j for j in range(size) if j != i]
            rows = [[(j == k) - self.rows[j][k] for k in others] + [Fraction(1)] for j in others]
            hitting = solve_exactly(rows) if others else ()
            found.append(1 + sum((self.rows[i][j] * h for j, h in zip(others, hitting, strict=True)), Fraction(0)))
        return tuple(found)

    def rank_of_balance(self) -> int:
        """The rank of Pᵀ − I: n minus the number of closed classes."""
        size = len(self.rows)
        return _eliminate([[self.rows[i][j] - (i == j) for i in range(size)] for j in range(size)], size)


def solve_exactly(augmented: Sequence[Sequence[Fraction]]) -> Fractions:
    """The solution of a consistent linear system [A | b] in fractions, by Gauss-Jordan elimination.

    >>> [str(x) for x in solve_exactly([[Fraction(3), Fraction(1)]])]
    ['1/3']
    """
    rows = [list(row) for row in augmented]
    unknowns = len(rows[0]) - 1
    if _eliminate(rows, unknowns) < unknowns:
        raise ValueError("The balance equations have more than one solution: the chain has several closed classes.")
    return tuple(rows[i][-1] for i in range(unknowns))


def _eliminate(rows: list[list[Fraction]], columns: int) -> int:
    rank = 0
    for c in range(columns):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][c] != 0), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [x / rows[rank][c] for x in rows[rank]]
        for r in range(len(rows)):
            if r != rank and rows[r][c] != 0:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def _fraction(value: Number) -> Fraction:
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
