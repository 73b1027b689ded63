"""How fast laws converge and how long a path remembers: distances, mixing time, the fundamental matrix."""

import numpy as np
from jaxtyping import Array, Float, Num

from .analysis import converging_class
from .finite import FiniteChain, Law, Matrix
from .invariant import invariant_law

_MOST = 2**40


def total_variation(
    p: Num[Array | np.ndarray, "... n"], q: Num[Array | np.ndarray, "... n"]
) -> Float[np.ndarray, "..."]:
    """½ Σ |p − q|, over the last axis.

    >>> float(total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    0.5
    """
    return np.asarray(np.abs(np.asarray(p, float) - np.asarray(q, float)).sum(axis=-1) / 2)


def mixing_time(chain: FiniteChain, distance: float = 0.25) -> int:
    """The first t with TV(P^t(i, ·), π) ≤ `distance` for every start i: by squaring, then bisection.

    >>> from leadline.chains import FiniteChain
    >>> mixing_time(FiniteChain([[0.9, 0.1], [0.1, 0.9]]), 0.25)
    4
    """
    converging_class(chain)
    if not 0 < distance < 1:
        raise ValueError(f"distance = {distance:g} is no total variation to fall below; give one between 0 and 1.")
    law = invariant_law(chain)
    worst = lambda matrix: total_variation(matrix, law).max()  # noqa: E731
    if worst(np.eye(chain.states)) <= distance:
        return 0
    powers = [chain.dense]
    while worst(powers[-1]) > distance:
        if 2 ** len(powers) > _MOST:
            raise ValueError(
                f"The chain is not within {distance:g} of its law after {_MOST} steps; its gap is too small."
            )
        powers.append(powers[-1] @ powers[-1])
    if len(powers) == 1:
        return 1
    below, time = powers[-2], 2 ** (len(powers) - 2)  # still too far at this time
    for k in range(len(powers) - 3, -1, -1):
        further = below @ powers[k]
        if worst(further) > distance:
            below, time = further, time + 2**k
    return time + 1


def fundamental_matrix(chain: FiniteChain, law: Law | None = None) -> Matrix:
    """Z = (I − P + 1πᵀ)⁻¹ (Kemeny and Snell): sums of correlations along a path, for periodic chains too.

    >>> from leadline.chains import FiniteChain
    >>> fundamental_matrix(FiniteChain([[0.5, 0.5], [0.5, 0.5]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    law = invariant_law(chain) if law is None else law
    return np.linalg.inv(np.eye(chain.states) - chain.dense + law)


def asymptotic_variance(chain: FiniteChain, observable: Num[Array | np.ndarray, " n"], law: Law | None = None) -> float:
    """σ² = lim T Var[(1/T) Σ f(w^t)] = 2 π(f̃ Z f̃) − π(f̃²), f̃ = f − π(f): the variance rate of a time average.

    σ²/Var_π(f) is the integrated autocorrelation time τ: a run of T steps is worth T/τ independent draws.

    >>> from leadline.chains import FiniteChain
    >>> round(asymptotic_variance(FiniteChain([[0.9, 0.1], [0.1, 0.9]]), np.array([0.0, 1.0])), 6)
    2.25
    """
    law = invariant_law(chain) if law is None else law
    f = np.asarray(observable, float)
    centred = f - law @ f
    summed = np.linalg.solve(np.eye(chain.states) - chain.dense + law, centred)
    return float(max(0.0, 2 * law @ (centred * summed) - law @ centred**2))


def time_average_variance(
    chain: FiniteChain, observable: Num[Array | np.ndarray, " n"], num_steps: int, law: Law | None = None
) -> float:
    """Var[(1/T) Σ_{t<T} f(w^t)] of a path begun in the invariant law, exactly: (1/T²) Σ_{s,t} Cov(f(w^s), f(w^t)).

    >>> from leadline.chains import FiniteChain
    >>> time_average_variance(FiniteChain([[0.5, 0.5], [0.5, 0.5]]), np.array([0.0, 1.0]), 10)
    0.025
    """
    law = invariant_law(chain) if law is None else law
    f = np.asarray(observable, float)
    centred = f - law @ f
    # Σ_{k<T} (T − k) P^k f̃ = Z-solves: with G = (I − P + 1πᵀ)⁻¹, Σ_{k<T} P^k f̃ = G (f̃ − P^T f̃), summed once more.
    matrix = np.eye(chain.states) - chain.dense + law
    once = np.linalg.solve(matrix, centred)
    late = np.linalg.matrix_power(chain.dense, num_steps) @ once
    twice = np.linalg.solve(matrix, chain.dense @ (once - late))
    # Σ_{k=1}^{T−1} (T − k) P^k f̃ = T G P f̃ − G (P G f̃ − P^{T+1} G f̃)
    lagged = num_steps * (once - centred) - twice
    return float((num_steps * law @ centred**2 + 2 * law @ (centred * lagged)) / num_steps**2)
