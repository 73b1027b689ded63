"""Invariant laws by three routes, and mean hitting and return times by linear solves."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import eye_array, issparse
from scipy.sparse.linalg import spsolve

from .analysis import closed_classes, converging_class, lasting_class
from .finite import FiniteChain, Law

Route = Literal["solve", "eigenvector", "power", "elimination"]

_POWER_STEPS = 200_000
_DIRECT = 300


def invariant_law(chain: FiniteChain, route: Route = "solve") -> Law:
    """The π with Pᵀπ = π and Σ π = 1.

    "solve": the normalisation replaces one balance equation, which the others imply. "eigenvector": of Pᵀ for the
    eigenvalue 1. "power": π^t until it stops moving, which needs an aperiodic chain. "elimination": states are
    eliminated one by one without a subtraction (Grassmann, Taksar and Heyman 1985), which keeps the relative
    accuracy of every entry, however small.

    >>> from leadline.chains import FiniteChain
    >>> invariant_law(FiniteChain([[0.5, 0.5], [0.4, 0.6]])).round(6).tolist()
    [0.444444, 0.555556]
    """
    if route not in get_args(Route):
        raise ValueError(f"route = '{route}' is not one of {', '.join(get_args(Route))}.")
    only = converging_class(chain) if route == "power" else lasting_class(chain)
    states = only.states
    inner = chain.matrix[states][:, states]
    law = np.zeros(chain.states)
    law[states] = _ROUTES[route](inner)
    return law


def invariant_laws(chain: FiniteChain) -> Float[np.ndarray, "closed n"]:
    """The extreme invariant laws in rows, one for each closed class; every invariant law is a mixture of them.

    >>> from leadline.chains import FiniteChain
    >>> invariant_laws(FiniteChain([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    found = []
    for only in closed_classes(chain):
        law = np.zeros(chain.states)
        law[only.states] = _solve(chain.matrix[only.states][:, only.states])
        found.append(law)
    return np.stack(found)


def _solve(matrix) -> np.ndarray:
    size = matrix.shape[0]
    right = np.zeros(size)
    right[-1] = 1.0
    if issparse(matrix):
        balance = (matrix.T - eye_array(size)).tolil()
        balance[-1] = np.ones(size)
        law = np.atleast_1d(spsolve(balance.tocsc(), right))
    else:
        balance = matrix.T - np.eye(size)
        balance[-1] = 1.0
        law = np.linalg.solve(balance, right)
    return _normalised(law)


def _eigenvector(matrix) -> np.ndarray:
    if issparse(matrix) and matrix.shape[0] > 500:
        from scipy.sparse.linalg import eigs

        _, vectors = eigs(matrix.T.tocsc(), k=1, sigma=1 + 1e-9)
        return _normalised(vectors[:, 0].real)
    values, vectors = np.linalg.eig((matrix.toarray() if issparse(matrix) else matrix).T)
    return _normalised(np.real(vectors[:, np.argmin(np.abs(values - 1))]))


def _iterate(matrix) -> np.ndarray:
    law, before = np.full(matrix.shape[0], 1 / matrix.shape[0]), np.inf
    for _ in range(_POWER_STEPS):
        after = law @ matrix
        moved = np.abs(after - law).sum()
        law = after
        if moved < 1e-15 or (moved < 1e-13 and moved >= before):
            return _normalised(law)
        before = moved
    raise ValueError(f"Power iteration still moves by {moved:.2g} after {_POWER_STEPS} steps; use the route 'solve'.")


def _eliminate(matrix) -> np.ndarray:
    left = (matrix.toarray() if issparse(matrix) else matrix).copy()
    size = len(left)
    for k in range(size - 1, 0, -1):
        left[:k, k] /= left[k, :k].sum()
        left[:k, :k] += np.outer(left[:k, k], left[k, :k])
    law = np.ones(size)
    for k in range(1, size):
        law[k] = law[:k] @ left[:k, k]
    return law / law.sum()


def _normalised(law: np.ndarray) -> np.ndarray:
    law = law / law.sum()
    return np.maximum(law, 0.0) / np.maximum(law, 0.0).sum()


_ROUTES = {"solve": _solve, "eigenvector": _eigenvector, "power": _iterate, "elimination": _eliminate}


def hitting_times(chain: FiniteChain, target: int | Int[np.ndarray, " k"] | Bool[np.ndarray, " n"]) -> Law:
    """h_i = E[steps from i until the target set is reached]: (I − P)h = 1 off the target, h = 0 on it.

    Infinite where the target may be missed for ever.

    >>> from leadline.chains import FiniteChain
    >>> hitting_times(FiniteChain([[0.5, 0.5], [0.4, 0.6]]), 1).tolist()
    [2.0, 0.0]
    """
    inside = np.zeros(chain.states, bool)
    inside[np.asarray(target)] = True
    if not inside.any():
        raise ValueError("The target of hitting_times is empty; give at least one state.")
    times = np.where(inside, 0.0, np.inf)
    sure = _sure_to_reach(chain, inside) & ~inside
    if sure.any():
        inner = chain.matrix[sure][:, sure]
        size = int(sure.sum())
        if issparse(inner):
            times[sure] = np.atleast_1d(spsolve((eye_array(size) - inner).tocsc(), np.ones(size)))
        else:
            times[sure] = np.linalg.solve(np.eye(size) - inner, np.ones(size))
    return times


def _sure_to_reach(chain: FiniteChain, target: np.ndarray) -> np.ndarray:
    """From where the target is reached with probability 1: no way leads to a state that cannot reach it."""
    moves, avoid = chain.sparse.T.tocsr(), chain.sparse.T.tolil()
    avoid[:, target] = 0  # what happens after the target does not count
    cannot = ~_reaches(moves, target)
    return ~_reaches(avoid.tocsr(), cannot) if cannot.any() else np.ones(chain.states, bool)


def _reaches(backward, goal: np.ndarray) -> np.ndarray:
    """The states from which `goal` can be reached, along the reversed edges."""
    seen, front = goal.copy(), goal
    while front.any():
        found = np.asarray(front.astype(float) @ backward).ravel() > 0
        front = found & ~seen
        seen |= found
    return seen


def return_times(chain: FiniteChain) -> Law:
    """E[first t ≥ 1 with w^t = i | w⁰ = i] by first-step analysis: 1 + Σ_j P_ij h_j(i), h(i) the hitting times of i.

    Infinite for transient states. In classes of more than 300 states by Kac's formula 1/π_i instead of a solve a state.

    >>> from leadline.chains import FiniteChain
    >>> return_times(FiniteChain([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [2.0, 2.0]
    """
    times = np.full(chain.states, np.inf)
    for c in closed_classes(chain):
        inner = chain.matrix[c.states][:, c.states]
        times[c.states] = 1 / _solve(inner) if len(c.states) > _DIRECT else _first_step_returns(inner)
    return times


def _first_step_returns(matrix) -> np.ndarray:
    matrix = matrix.toarray() if issparse(matrix) else matrix
    size, found = len(matrix), []
    for i in range(size):
        others = np.arange(size) != i
        hitting = np.linalg.solve(np.eye(size - 1) - matrix[others][:, others], np.ones(size - 1))
        found.append(1.0 + matrix[i, others] @ hitting)
    return np.array(found)
