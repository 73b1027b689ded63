"""Chains with known answers, and random ones."""

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator

from .finite import FiniteChain
from .rational import RationalChain

_MOLE = ((".1", ".4", ".5"), (".4", "0", ".6"), ("0", ".6", ".4"))


def mole_chain() -> FiniteChain:
    """The mole of three holes: π = (12, 27, 37)/76, not reversible.

    >>> mole_chain().matrix[0].tolist()
    [0.1, 0.4, 0.5]
    """
    return FiniteChain([[float(p) for p in row] for row in _MOLE], ("1", "2", "3"))


def rational_mole() -> RationalChain:
    """The same in fractions.

    >>> [str(p) for p in rational_mole().invariant_law()]
    ['3/19', '27/76', '37/76']
    """
    return RationalChain(_MOLE)


def two_state_chain(a: float, b: float) -> FiniteChain:
    """Leave the first state with probability a, the second with b: π = (b, a)/(a + b), λ₂ = 1 − a − b."""
    return FiniteChain([[1 - a, a], [b, 1 - b]])


def cycle_chain(states: int) -> FiniteChain:
    """0 → 1 → … → k − 1 → 0 for certain: period k, its eigenvalues are the k-th roots of unity."""
    return FiniteChain(np.roll(np.eye(states), 1, axis=1))


def lazy_chain(chain: FiniteChain) -> FiniteChain:
    """(P + I)/2: stay with probability one half; aperiodic, the same π, eigenvalues (1 + λ)/2.

    >>> lazy_chain(cycle_chain(2)).matrix.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return FiniteChain((chain.dense + np.eye(chain.states)) / 2, chain.names)


def birth_death_chain(up: Num[Array | np.ndarray, " m"], down: Num[Array | np.ndarray, " m"]) -> FiniteChain:
    """i → i + 1 with probability up_i and i + 1 → i with down_i, else stay: π_{i+1}/π_i = up_i/down_i, reversible."""
    moves = np.diag(np.asarray(up, float), 1) + np.diag(np.asarray(down, float), -1)
    return FiniteChain(moves + np.diag(1 - moves.sum(axis=1)))


def walk_with_late_returns() -> FiniteChain:
    """Two cycles of 4 and of 6 steps through state 0: returns to 0 take 4, 6, 8, … steps: period 2, never 2."""
    matrix = np.zeros((9, 9))
    for cycle in ([0, 1, 2, 3], [0, 4, 5, 6, 7, 8]):
        for i, j in zip(cycle, [*cycle[1:], 0], strict=True):
            matrix[i, j] = 1.0
    return FiniteChain(matrix / matrix.sum(axis=1, keepdims=True))


def reflected_walk(states: int) -> FiniteChain:
    """The fair walk on 0 … n − 1, held at the top: what is left of the null-recurrent walk on 0, 1, 2, … below n.

    The mean return time to 0 grows with n without bound, though each such chain returns for certain.
    """
    half = np.full(states - 1, 0.5)
    up = half.copy()
    up[0] = 1.0
    return birth_death_chain(up, half)


def random_chains(count: int, states: int, *, density: float = 1.0, key: PRNGKeyArray) -> list[FiniteChain]:
    """Independent random chains of one size."""
    rng = generator(key)
    return [FiniteChain(_random_rows(states, density, rng)) for _ in range(count)]


def random_irreducible_chain(states: int, *, density: float = 1.0, key: PRNGKeyArray) -> FiniteChain:
    """A random chain mixed with a random cycle through all states, and lazy in its first state: one class, period 1."""
    rng = generator(key)
    rows, order = _random_rows(states, density, rng), rng.permutation(states)
    cycle: Float[np.ndarray, "n n"] = np.zeros((states, states))
    cycle[order, np.roll(order, 1)] = 1.0
    mixed = 0.8 * rows + 0.2 * cycle
    mixed[0] = (mixed[0] + np.eye(states)[0]) / 2
    return FiniteChain(mixed / mixed.sum(axis=1, keepdims=True))


def _random_rows(states: int, density: float, rng: np.random.Generator) -> np.ndarray:
    rows = rng.exponential(size=(states, states)) * (rng.random((states, states)) < density)
    rows[np.arange(states), rng.integers(states, size=states)] += 1e-3 + rng.exponential(size=states)
    return rows / rows.sum(axis=1, keepdims=True)
