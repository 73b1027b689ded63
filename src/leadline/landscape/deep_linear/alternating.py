"""Alternating least squares for AB: subspace iteration on Σ, with its contraction."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .block_optima import best_decoder, best_encoder
from .linear_problem import LinearProblem


class Alternation(NamedTuple):
    """`losses` after every half sweep (the encoder, then the decoder), `tangents` of the largest principal angle
    between col(A) and the top-p eigenspace of Σ at the start and after every sweep, and the last factors."""

    losses: Float[np.ndarray, " halves"]
    tangents: Float[np.ndarray, " times"]
    a: Float[np.ndarray, "d_y p"]
    b: Float[np.ndarray, "p d_x"]

    def contraction(self, floor: float = 1e-9) -> float:
        """The factor of the tangent over the last sweep that ends above `floor`, where rounding does not yet count."""
        usable = np.flatnonzero(self.tangents[1:] > floor)
        if not usable.size:
            raise ValueError(f"No sweep ends with a tangent above {floor:g}; start farther from the limit.")
        last = int(usable[-1])
        return float(self.tangents[last + 1] / self.tangents[last])


def alternate_factors(problem: LinearProblem, a: Float[np.ndarray, "d_y p"], *, sweeps: int) -> Alternation:
    """B ← argmin_B l(A, B), A ← argmin_A l(A, B), `sweeps` times.

    A sweep maps col(A) to Σ col(A): subspace iteration. The tangent of the largest angle to the top-p eigenspace
    contracts by at least λ_{p+1}/λ_p a sweep, in the end by just that; at an exact saddle it stays.

    >>> problem = LinearProblem(np.eye(2), np.diag([2.0, 1.0]))
    >>> run = alternate_factors(problem, np.array([[1.0], [1.0]]), sweeps=5)
    >>> run.tangents[:3].round(6).tolist(), round(run.contraction(), 6)
    ([1.0, 0.25, 0.0625], 0.25)
    """
    from scipy.linalg import subspace_angles

    if sweeps < 1:
        raise ValueError(f"alternate_factors got {sweeps} sweeps; give at least 1.")
    top = problem.eigenvectors[:, : a.shape[1]]

    def tangent(a: np.ndarray) -> float:
        return float(np.tan(subspace_angles(a, top)[0]))

    losses, tangents = [], [tangent(a)]
    for _ in range(sweeps):
        b = best_encoder(problem, a)
        losses.append(problem.factor_loss(a, b))
        a = best_decoder(problem, b)
        losses.append(problem.factor_loss(a, b))
        tangents.append(tangent(a))
    return Alternation(np.array(losses), np.array(tangents), a, b)
