"""The ends of the Hessian's spectrum from products only (Lanczos), and the whole of it where it is small."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.curvature import top
from leadline.curvature.spectra.estimate import Estimate

from ..objectives.any_loss import flat_objective
from ..objectives.objective import Objective, Vector

_LARGEST_DENSE = 6000


class EigenPair(NamedTuple):
    """An eigenvalue θ, a unit vector v and the residual r = ‖Hv − θv‖: an exact eigenvalue is in [θ − r, θ + r]."""

    value: float
    residual: float
    vector: Float[np.ndarray, " p"]


class HessianEnds(NamedTuple):
    """The least and the greatest eigenvalue of a Hessian."""

    least: EigenPair
    greatest: EigenPair

    @property
    def modulus(self) -> EigenPair:
        """The one that is larger in modulus: its modulus is the spectral norm."""
        return max(self, key=lambda pair: abs(pair.value))


@eqx.filter_jit
def _product(objective: Callable, w: Vector, v: Vector) -> Vector:
    return jax.jvp(jax.grad(objective), (w,), (v,))[1]


@eqx.filter_jit
def _dense(objective: Callable, w: Vector) -> Float[Array, "p p"]:
    if type(objective).hessian is not Objective.hessian:  # a formula of its own
        return objective.hessian(w)
    width = min(w.size, 64)  # columns at a time
    pieces = -(-w.size // width)
    columns = jnp.eye(pieces * width, w.size, dtype=w.dtype).reshape(pieces, width, w.size)
    product = jax.vmap(lambda v: _product(objective, w, v))
    dense = jax.lax.map(product, columns).reshape(-1, w.size)[: w.size]
    return (dense + dense.T) / 2


def extreme_eigenvalues(
    objective: Objective,
    w: Float[Array, " p"],
    *,
    tolerance: float = 1e-7,
    guess: Float[np.ndarray, " p"] | None = None,
) -> HessianEnds:
    """λ_min and λ_max of ∇²l(w) with residuals; products only, above dimension 200. `guess` starts the iteration.

    >>> from leadline.optimisation import spread_quadratic
    >>> ends = extreme_eigenvalues(spread_quadratic(300, 50.0), jnp.zeros(300))
    >>> round(ends.least.value, 3), round(ends.greatest.value, 3)
    (1.0, 50.0)
    """
    ends = _ends(objective, w, "both", tolerance, guess)
    return HessianEnds(ends[0], ends[-1])


def top_eigenvalue(
    objective: Objective,
    w: Float[Array, " p"],
    *,
    tolerance: float = 1e-4,
    guess: Float[np.ndarray, " p"] | None = None,
) -> EigenPair:
    """λ_max of ∇²l(w) alone, which takes far fewer products than both ends.

    >>> from leadline.optimisation import spread_quadratic
    >>> round(top_eigenvalue(spread_quadratic(300, 50.0), jnp.zeros(300)).value, 3)
    50.0
    """
    return _ends(objective, w, "largest", tolerance, guess)[0]


class _HessianAt(eqx.Module):
    """∇²l(w) as an operator on vectors."""

    objective: Callable
    w: Vector

    @property
    def size(self) -> int:
        return self.w.size

    @property
    def dtype(self) -> Any:
        return self.w.dtype

    def __call__(self, v: Vector) -> Vector:
        return _product(self.objective, self.w, v)

    def dense(self) -> Float[np.ndarray, "p p"]:
        return np.asarray(_dense(self.objective, self.w))


def _ends(objective: Objective, w: Vector, which: str, tolerance: float, guess: np.ndarray | None) -> list[EigenPair]:
    if np.finfo(w.dtype).eps > 1e-10:
        tolerance = max(tolerance, 1e-5)
    found = top(_HessianAt(objective, w), 1, which=which, tolerance=tolerance, start=guess)
    pairs = zip(found.values, found.residuals, found.vectors, strict=True)
    return [EigenPair(float(value), float(residual), vector) for value, residual, vector in pairs]


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
            f"hessian_spectrum got {w.size} parameters, at most {_LARGEST_DENSE} fit; use extreme_eigenvalues."
        )
    dense = np.asarray(_dense(objective, w))
    _refuse_non_finite(dense)
    return HessianSpectrum(np.linalg.eigvalsh(dense))


def measure_sharpness(loss: Callable, params: PyTree, *data: PyTree) -> Estimate:
    """λ_max of the Hessian of loss(params, *data) at `params`; steps below 2/λ_max are stable there.

    >>> measure_sharpness(lambda w: w[0] ** 2 - 3 * w[1] ** 2, jnp.ones(2)).value
    2.0
    """
    objective, w = flat_objective(loss, params, *data)
    top = top_eigenvalue(objective, w)
    return Estimate(
        top.value,
        top.value - top.residual,
        top.value + top.residual,
        False,
        "largest Hessian eigenvalue at the parameters",
    )


def _refuse_non_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise ValueError(
            "The loss has a Hessian that is not finite; give parameters at which it is twice differentiable."
        )
