"""The Hessian of an objective at a point as an operator of `curvature`, and its whole spectrum where it is small."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.curvature import DenseOperator, hessian
from leadline.curvature.operators.operator import Operator

from ..objectives.any_loss import flat_objective
from ..objectives.objective import Matrix, Objective, Vector

_LARGEST_DENSE = 6000


@eqx.filter_jit
def _formula(objective: Objective, w: Vector) -> Matrix:
    return objective.hessian(w)


def hessian_at(objective: Objective, w: Float[Array | np.ndarray, " p"]) -> DenseOperator | Operator:
    """∇²l(w): the matrix where the objective has a formula for it, and products only where it has none.

    >>> from leadline.optimisation import spread_quadratic
    >>> hessian_at(spread_quadratic(300, 50.0), jnp.zeros(300)).top(1, which="both").values.round(3).tolist()
    [1.0, 50.0]
    """
    w = jnp.asarray(w)
    if type(objective).hessian is not Objective.hessian:
        return DenseOperator(_formula(objective, w))
    return hessian(objective, w)


class HessianSpectrum(NamedTuple):
    """All eigenvalues of a Hessian in ascending order, and what they say of its conditioning."""

    values: Float[np.ndarray, " p"]

    def negative(self, tolerance: float = 0.0) -> int:
        """How many are below −tolerance λ_max."""
        return int(np.sum(self.values < -tolerance * self.values[-1]))

    def near_zero(self, tolerance: float = 1e-6) -> int:
        """How many have a modulus of at most tolerance λ_max."""
        return int(np.sum(np.abs(self.values) <= tolerance * np.abs(self.values).max()))

    def effective_condition(self, tolerance: float = 1e-6) -> float:
        """λ_max over the smallest eigenvalue above tolerance λ_max; λ_max/λ_min where all are above."""
        top = self.values[-1]
        if top <= 0:
            raise ValueError("The Hessian has no positive eigenvalue, hence no condition number; measure at a minimum.")
        return float(top / self.values[self.values > tolerance * top].min())


def hessian_spectrum(loss: Callable, params: PyTree, *data: PyTree) -> HessianSpectrum:
    """All eigenvalues of the Hessian of loss(params, *data), by the dense solver: up to 6000 parameters.

    >>> hessian_spectrum(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.ones(2)).values.tolist()
    [2.0, 6.0]
    """
    objective, w = flat_objective(loss, params, *data)
    if w.size > _LARGEST_DENSE:
        raise ValueError(
            f"hessian_spectrum got {w.size} parameters, at most {_LARGEST_DENSE} fit; use curvature.hessian(...).top()."
        )
    dense = hessian_at(objective, w).dense()
    if not np.isfinite(dense).all():
        raise ValueError(
            "The loss has a Hessian that is not finite; give parameters at which it is twice differentiable."
        )
    return HessianSpectrum(np.linalg.eigvalsh(dense))
