"""The ends of the Hessian's spectrum from products only (Lanczos, by ARPACK), and the whole of it where it is small."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from .any_loss import flat_objective
from .estimate import Estimate
from .objective import Objective, Vector

DENSE = 128  # up to this dimension the whole Hessian costs less than the iteration
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
    """λ_min and λ_max of ∇²l(w) with residuals; products only, above dimension 128. `guess` starts the iteration.

    ARPACK's implicitly restarted Lanczos method (Lehoucq, Sorensen and Yang 1998) as SciPy has it.

    >>> from leadline.optimisation import spread_quadratic
    >>> ends = extreme_eigenvalues(spread_quadratic(300, 50.0), jnp.zeros(300))
    >>> round(ends.least.value, 3), round(ends.greatest.value, 3)
    (1.0, 50.0)
    """
    return HessianEnds(*_extremes(objective, w, 2, tolerance, guess))


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
    return _extremes(objective, w, 1, tolerance, guess)[-1]


def _extremes(
    objective: Objective, w: Vector, count: int, tolerance: float, guess: np.ndarray | None
) -> list[EigenPair]:
    if w.size <= DENSE:
        values, vectors = np.linalg.eigh(np.asarray(_dense(objective, w)))
        _refuse_non_finite(values)
        rounding = float(w.size * np.finfo(values.dtype).eps * np.abs(values).max())
        return [EigenPair(float(values[i]), rounding, vectors[:, i]) for i in (0, -1)]
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    def times(v: np.ndarray) -> np.ndarray:
        return np.asarray(_product(objective, w, jnp.asarray(v.ravel(), w.dtype)))

    _refuse_non_finite(times(np.ones(w.size)))
    tolerance = max(tolerance, 1e-5) if np.finfo(w.dtype).eps > 1e-10 else tolerance

    def largest(product: Callable, start: np.ndarray) -> np.ndarray:
        operator = LinearOperator((w.size, w.size), product, dtype=w.dtype)
        for looser in (1, 1e2, 1e4):
            try:
                return eigsh(operator, k=1, which="LA", v0=start, tol=looser * tolerance, ncv=24, maxiter=40)[1][:, 0]
            except ArpackNoConvergence as failure:
                last = failure
        raise ValueError(f"The Lanczos iteration found no extreme eigenvalue ({last}); measure at other parameters.")

    start = (np.random.default_rng(0).normal(size=w.size) if guess is None else np.asarray(guess)).astype(w.dtype)
    pairs = [_rayleigh(times, largest(times, start))]
    if count == 2:
        # λ_max I − H has its largest eigenvalue where H has its least, and a scale for the tolerance.
        top = pairs[0].value
        pairs.insert(0, _rayleigh(times, largest(lambda v: top * v.ravel() - times(v), start)))
    return pairs


def _rayleigh(times: Callable, v: np.ndarray) -> EigenPair:
    v = v / np.linalg.norm(v)
    image = times(v)
    value = float(v @ image)
    return EigenPair(value, float(np.linalg.norm(image - value * v)), v)


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
