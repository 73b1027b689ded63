"""Chains backwards: the reversed matrix, detailed balance, currents, and a chain made reversible on purpose."""

import numpy as np
from jaxtyping import Array, Float, Num

from .finite import FiniteChain, Law, Matrix
from .invariant import invariant_law

_ROUNDING = 1e-12


def reverse_chain(chain: FiniteChain, law: Law | None = None) -> FiniteChain:
    """P^rev_ij = π_j P_ji / π_i: the law of a stationary path read backwards, i now and j next.

    It exists for every irreducible chain; the chain is reversible only if P^rev = P.

    >>> from leadline.chains import FiniteChain
    >>> reverse_chain(FiniteChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]])).matrix.round(12).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    law = invariant_law(chain) if law is None else law
    if law.min() <= 0:
        state = chain.names[int(np.argmin(law))]
        raise ValueError(f"State {state} is transient (π = 0), so its past is not defined; leave out transient states.")
    backward = chain.dense.T * law / law[:, None]
    return FiniteChain(backward / backward.sum(axis=1, keepdims=True), chain.names)


def currents(chain: FiniteChain, law: Law | None = None) -> Matrix:
    """J_ij = π_i P_ij − π_j P_ji, the net flow from i to j; all are 0 iff the chain is reversible.

    >>> from leadline.chains import FiniteChain
    >>> currents(FiniteChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))[0].round(6).tolist()
    [0.0, 0.333333, -0.333333]
    """
    law = invariant_law(chain) if law is None else law
    flow = law[:, None] * chain.dense
    return flow - flow.T


def is_reversible(chain: FiniteChain, law: Law | None = None) -> bool:
    """Detailed balance π_i P_ij = π_j P_ji, to rounding."""
    return bool(np.abs(currents(chain, law)).max() <= _ROUNDING)


def triangle_imbalance(chain: FiniteChain) -> float:
    """Kolmogorov's criterion on three states: max |P_ij P_jk P_ki − P_ik P_kj P_ji|; needs no π.

    It is 0 for reversible chains; for a chain with all P_ij > 0 the triangles decide.

    >>> from leadline.chains import FiniteChain
    >>> triangle_imbalance(FiniteChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    1.0
    """
    p = chain.dense
    forward = p[:, :, None] * p[None, :, :] * p.T[:, None, :]  # P_ij P_jk P_ki
    return float(np.abs(forward - forward.transpose(0, 2, 1)).max())


def metropolis_chain(
    target: Num[Array | np.ndarray, " n"], proposal: Float[np.ndarray, "n n"] | None = None
) -> FiniteChain:
    """Propose j by a symmetric matrix, accept with min(1, target_j/target_i): reversible for the target law.

    The proposal is uniform on all states unless given. Metropolis et al. 1953.

    >>> metropolis_chain(np.array([0.25, 0.75])).matrix.round(6).tolist()
    [[0.5, 0.5], [0.166667, 0.833333]]
    """
    target = np.asarray(target, float)
    if target.min() <= 0:
        raise ValueError(f"The target's least entry is {target.min():g}; give positive weights.")
    n = len(target)
    proposal = np.full((n, n), 1 / n) if proposal is None else FiniteChain(proposal).dense
    if not np.allclose(proposal, proposal.T):
        raise ValueError("The proposal matrix is not symmetric; give a symmetric one.")
    moves = proposal * np.minimum(1.0, target / target[:, None])
    np.fill_diagonal(moves, 0.0)
    return FiniteChain(moves + np.diag(1 - moves.sum(axis=1)))
