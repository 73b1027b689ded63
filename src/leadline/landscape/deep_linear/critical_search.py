"""Finding critical points of a two-layer linear network from anywhere, saddles as readily as minima."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .linear_problem import LinearProblem
from .penalised_factors import PenalisedFactors


class CriticalPoint(NamedTuple):
    """Factors, and the norm of the gradient there: the search succeeded where that is at rounding."""

    a: Float[np.ndarray, "d_y p"]
    b: Float[np.ndarray, "p d_x"]
    gradient_norm: float


def refine_critical(
    problem: LinearProblem | PenalisedFactors,
    a: Float[np.ndarray, "d_y p"],
    b: Float[np.ndarray, "p d_x"],
    *,
    evaluations: int = 200,
) -> CriticalPoint:
    """Levenberg and Marquardt's method on ∇l(A, B) = 0 with the exact Hessian: a damped Newton method.

    It goes to critical points of every index, and along with them to points where ‖∇l‖ only has a local minimum.

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> found = refine_critical(problem, np.array([[0.1], [1.0]]), np.array([[0.1, 1.9]]))
    >>> bool(np.allclose(found.a @ found.b, np.diag([0.0, 2.0])))
    True
    """
    from scipy.optimize import least_squares

    shape, cut = a.shape, a.size

    def split(w):
        return w[:cut].reshape(shape), w[cut:].reshape(shape[1], -1)

    def gradient(w):
        return np.concatenate([part.ravel() for part in problem.factor_gradient(*split(w))])

    found = least_squares(
        gradient,
        np.concatenate([a.ravel(), b.ravel()]),
        lambda w: problem.factor_hessian(*split(w)),
        method="lm",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=evaluations,
    )
    return CriticalPoint(*split(found.x), float(np.linalg.norm(found.fun)))
