"""A Markov chain on finitely many states: its matrix checked, laws propagated, paths sampled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray
from scipy.sparse import csr_array, issparse

from leadline.data import generator

_SUM_TOLERANCE = 1e-9

Law = Float[np.ndarray, " n"]
Matrix = Float[np.ndarray, "n n"]


@dataclass(frozen=True, eq=False)
class FiniteChain:
    """P_ij = P(next = j | now = i) on n states: rows are laws. A SciPy sparse matrix stays sparse.

    >>> mole = FiniteChain([[0.1, 0.4, 0.5], [0.4, 0.0, 0.6], [0.0, 0.6, 0.4]])
    >>> mole.propagate([1, 0, 0], 2).round(12).tolist()
    [0.17, 0.34, 0.49]
    """

    matrix: Matrix | csr_array
    names: tuple[str, ...]

    def __init__(self, matrix: object, names: Sequence[str] = ()):
        checked = csr_array(matrix, dtype=float) if issparse(matrix) else _dense(matrix)
        _check_rows(checked)
        names = tuple(str(name) for name in names) or tuple(str(i) for i in range(checked.shape[0]))
        if len(names) != checked.shape[0]:
            raise ValueError(f"{len(names)} names for {checked.shape[0]} states; give one name a state, or none.")
        object.__setattr__(self, "matrix", checked)
        object.__setattr__(self, "names", names)

    @property
    def states(self) -> int:
        """n, the number of states."""
        return self.matrix.shape[0]

    @property
    def dense(self) -> Matrix:
        """P as a NumPy array."""
        return self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.toarray()

    @property
    def sparse(self) -> csr_array:
        """P without its zeros: the graph of the possible moves."""
        found = csr_array(self.matrix)
        found.eliminate_zeros()
        return found

    def law(self, given: Num[Array | np.ndarray, " n"] | Sequence[float] | int) -> Law:
        """A law on the states, checked; an integer is the law that sits in this state."""
        if isinstance(given, int | np.integer):
            if not 0 <= given < self.states:
                raise ValueError(f"State {given} is not one of 0 to {self.states - 1}; start in one of these.")
            return np.eye(self.states)[given]
        law = np.asarray(given, float)
        if law.shape != (self.states,) or law.min() < 0 or not abs(law.sum() - 1) < _SUM_TOLERANCE:
            raise ValueError(
                f"A law of shape {law.shape} with least entry {law.min():.3g} and sum {law.sum():.9g} is none on "
                f"{self.states} states; give {self.states} non-negative numbers with sum 1."
            )
        return law

    def propagate(self, start: Num[Array | np.ndarray, " n"] | Sequence[float] | int, num_steps: int = 1) -> Law:
        """π^t, from π^{t+1} = Pᵀ π^t: the law of the state after t steps."""
        law = self.law(start)
        for _ in range(num_steps):
            law = law @ self.matrix
        return law

    def laws(
        self, start: Num[Array | np.ndarray, " n"] | Sequence[float] | int, num_steps: int
    ) -> Float[np.ndarray, "t n"]:
        """π⁰, …, π^t in rows."""
        rows = [self.law(start)]
        for _ in range(num_steps):
            rows.append(rows[-1] @ self.matrix)
        return np.stack(rows)

    def step_matrix(self, num_steps: int) -> Matrix:
        """P^t, with (P^t)_ij = P(w^t = j | w⁰ = i), by repeated squaring."""
        return np.linalg.matrix_power(self.dense, num_steps)

    def sample(
        self,
        start: Num[Array | np.ndarray, " n"] | Sequence[float] | int,
        num_steps: int,
        *,
        paths: int = 1,
        key: PRNGKeyArray,
    ) -> Int[np.ndarray, "paths time"]:
        """Independent paths, each begun in a state drawn from the law `start`.

        A move is one binary search: the cumulative rows are laid end to end, row i on [i, i+1).

        >>> import jax
        >>> FiniteChain([[0.0, 1.0], [1.0, 0.0]]).sample(0, 3, key=jax.random.key(0)).tolist()
        [[0, 1, 0, 1]]
        """
        rng, moves = generator(key), self.sparse
        ends = _laid_end_to_end(moves)
        first = rng.choice(self.states, size=paths, p=self.law(start))
        if paths == 1:
            return _one_path(int(first[0]), ends, moves.indices, rng.random(num_steps))
        found = np.empty((num_steps + 1, paths), np.int64)
        found[0] = first
        for t in range(num_steps):
            found[t + 1] = moves.indices[np.searchsorted(ends, found[t] + rng.random(paths), side="right")]
        return found.T


def _one_path(state: int, ends: np.ndarray, targets: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    from bisect import bisect_right

    path, ends, targets = [state], ends.tolist(), targets.tolist()
    for u in uniforms.tolist():
        state = targets[bisect_right(ends, state + u)]
        path.append(state)
    return np.array([path])


def _laid_end_to_end(moves: csr_array) -> np.ndarray:
    """i + Σ_{k ≤ j} P_ik over the moves of all rows; the last move of row i ends at i + 1 exactly."""
    total = np.cumsum(moves.data)
    last = moves.indptr[1:] - 1
    before = np.concatenate([[0.0], total[last[:-1]]])
    ends = total - np.repeat(before, np.diff(moves.indptr)) + np.repeat(np.arange(len(last)), np.diff(moves.indptr))
    ends[last] = np.arange(1, len(last) + 1)
    return np.maximum.accumulate(ends)


def _dense(matrix: object) -> np.ndarray:
    found = np.array(matrix, dtype=float)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise ValueError(f"A transition matrix of shape {found.shape} is not square; give n rows of n probabilities.")
    return found


def _check_rows(matrix: np.ndarray | csr_array) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A transition matrix of shape {matrix.shape} is not square; give n rows of n probabilities.")
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.all(np.isfinite(entries)) or np.any(entries < 0):
        full = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        i, j = np.argwhere(~(full >= 0) | ~np.isfinite(full))[0]
        raise ValueError(f"P[{i}, {j}] = {full[i, j]:g} is not a probability; give numbers from 0 to 1.")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.size:
        others = f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""
        raise ValueError(
            f"Row {wrong[0]} of the transition matrix sums to {sums[wrong[0]]:.9g}{others}; each row must sum to 1: "
            "row i holds the probabilities of the moves out of state i."
        )
