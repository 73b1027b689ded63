"""What a finite chain is: its classes, periods, invariant laws, spectrum, mixing and currents."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float, Int
from scipy.sparse.csgraph import breadth_first_order, connected_components

from .finite import FiniteChain

_LISTED = 8


@dataclass(frozen=True, eq=False)
class StateClass:
    """States that reach each other. `closed`: no way out. `period`: gcd of the return times, 0 if there is no return.

    `phases[i]` is the position of state i in the cycle of the class, 0 to period − 1.
    """

    states: Int[np.ndarray, " k"]
    closed: bool
    period: int
    phases: Int[np.ndarray, " k"]


def communicating_classes(chain: FiniteChain) -> list[StateClass]:
    """The strongly connected classes, closed ones first; the period from the levels of a breadth-first search.

    >>> from leadline.chains import FiniteChain
    >>> found = communicating_classes(FiniteChain([[0, 1, 0], [1, 0, 0], [0.5, 0, 0.5]]))
    >>> [(c.states.tolist(), c.closed, c.period) for c in found]
    [([0, 1], True, 2), ([2], False, 1)]
    """
    moves = chain.sparse
    count, label = connected_components(moves, directed=True, connection="strong")
    source, target = np.repeat(np.arange(chain.states), np.diff(moves.indptr)), moves.indices
    leaves = np.zeros(count, bool)
    leaves[label[source[label[source] != label[target]]]] = True
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    found = []
    for k, states in enumerate(members):
        period, phases = _period(moves[states][:, states])
        found.append(StateClass(states, not leaves[k], period, phases))
    return sorted(found, key=lambda c: (not c.closed, int(c.states[0])))


def _period(moves) -> tuple[int, np.ndarray]:
    """gcd over the edges u → v of level(u) + 1 − level(v), and the levels modulo it."""
    size = moves.shape[0]
    if moves.nnz == 0:
        return 0, np.zeros(size, int)
    order, before = breadth_first_order(moves, 0, directed=True)
    level = np.zeros(size, int)
    for state in order[1:]:
        level[state] = level[before[state]] + 1
    source = np.repeat(np.arange(size), np.diff(moves.indptr))
    period = int(np.gcd.reduce(np.abs(level[source] + 1 - level[moves.indices])))
    return period, level % period


def closed_classes(chain: FiniteChain) -> list[StateClass]:
    """The classes that are never left; a finite chain has at least one."""
    return [c for c in communicating_classes(chain) if c.closed]


def lasting_class(chain: FiniteChain, wanted: str = "a unique invariant law") -> StateClass:
    """The only closed class, or ValueError naming the closed classes if there are several."""
    closed = closed_classes(chain)
    if len(closed) > 1:
        raise ValueError(
            f"The chain is reducible with {len(closed)} closed classes, {listed_classes(chain, closed)}, so it has not "
            f"{wanted}; treat each class by itself, or use `invariant_laws`, which gives one law a class."
        )
    return closed[0]


def converging_class(chain: FiniteChain) -> StateClass:
    """The only closed class, or ValueError if there are several or if it is periodic, so that laws do not converge."""
    only = lasting_class(chain, "one law to which all laws converge")
    if only.period > 1:
        groups = [only.phases == k for k in range(only.period)]
        cycle = [StateClass(only.states[group], True, 1, only.phases[group]) for group in groups]
        raise ValueError(
            f"The chain is periodic with period {only.period}: it goes round the classes "
            f"{listed_classes(chain, cycle)}, so its law does not converge; use `lazy_chain`, which has the same "
            "invariant law."
        )
    return only


def listed_classes(chain: FiniteChain, classes: list[StateClass]) -> str:
    """{0, 1} and {2}: for messages; long lists are cut."""
    words = []
    for c in classes[:_LISTED]:
        names = [chain.names[i] for i in c.states[:_LISTED]]
        words.append("{" + ", ".join(names) + (", …" if len(c.states) > _LISTED else "") + "}")
    words += ["…"] if len(classes) > _LISTED else []
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


@dataclass(frozen=True, eq=False)
class ChainReport:
    """What `analyse` finds. What needs a unique invariant law is None where there is none.

    `laws` has one row a closed class; `returns` are the mean return times (infinite for transient states); `gap` is
    1 − |λ₂|; `mixing` the first t at which every start is within TV 1/4 of π (None if the laws do not converge);
    `currents` are π_i P_ij − π_j P_ji.
    """

    chain: FiniteChain
    classes: list[StateClass]
    laws: Float[np.ndarray, "closed n"]
    returns: Float[np.ndarray, " n"]
    eigenvalues: Complex[np.ndarray, " n"]
    gap: float
    mixing: int | None
    currents: Float[np.ndarray, "n n"] | None
    reversible: bool | None

    @property
    def closed(self) -> list[StateClass]:
        return [c for c in self.classes if c.closed]

    @property
    def irreducible(self) -> bool:
        return len(self.classes) == 1

    @property
    def aperiodic(self) -> bool:
        """Every closed class has period 1."""
        return all(c.period == 1 for c in self.closed)

    def __str__(self) -> str:
        transient = [c for c in self.classes if not c.closed]
        kind = "irreducible" if self.irreducible else "reducible"
        lines = [f"{self.chain.states} states, {kind}"]
        lines += [f"closed class {listed_classes(self.chain, [c])}, period {c.period}" for c in self.closed]
        lines += [f"transient {listed_classes(self.chain, transient)}"] if transient else []
        lines += [f"spectral gap {self.gap:.6g}"]
        lines += ["laws do not converge" if self.mixing is None else f"mixing time (TV 1/4) {self.mixing}"]
        if self.currents is not None:
            lines += ["reversible" if self.reversible else f"not reversible: currents up to {self.currents.max():.6g}"]
        return "; ".join(lines) + "."


def analyse(chain: FiniteChain) -> ChainReport:
    """Classes, periods, invariant laws, return times, spectrum, mixing time, currents of a chain.

    >>> from leadline.chains import FiniteChain
    >>> print(analyse(FiniteChain([[0.0, 1.0], [1.0, 0.0]])))
    2 states, irreducible; closed class {0, 1}, period 2; spectral gap 0; laws do not converge; reversible.
    """
    from .invariant import invariant_laws, return_times
    from .mixing import mixing_time
    from .reversal import currents as currents_of, is_reversible

    classes = communicating_classes(chain)
    closed = [c for c in classes if c.closed]
    laws = invariant_laws(chain)
    unique, converges = len(closed) == 1, len(closed) == 1 and closed[0].period == 1
    values = np.linalg.eigvals(chain.dense).astype(complex)
    values = values[np.argsort(-np.abs(values), kind="stable")]
    gap = float(max(0.0, 1 - np.abs(values[1]))) if chain.states > 1 else 1.0
    return ChainReport(
        chain,
        classes,
        laws,
        return_times(chain),
        values,
        0.0 if gap < 1e-12 else gap,
        mixing_time(chain) if converges else None,
        currents_of(chain, laws[0]) if unique else None,
        is_reversible(chain, laws[0]) if unique else None,
    )
