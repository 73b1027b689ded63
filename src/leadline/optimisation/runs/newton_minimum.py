"""Newton's method with damping: the minimum of a smooth function of a few thousand variables, to rounding."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

_SUFFICIENT = 0.25  # Armijo: a step of size t must gain this share of what the gradient promises, t λ²
_SHORTEST = 2.0**-40
_RESOLVED = 1e4  # times the rounding of l: a gain that l shows


class NewtonMinimum(NamedTuple):
    """Where Newton's method ended: w, l(w), ∇l(w), ∇²l(w), the step d that it would take next, and λ² = ∇l(w)·d.

    λ is the Newton decrement: λ²/2 estimates l(w) − min l, exactly for a quadratic (Boyd and Vandenberghe 2004, 9.5).
    `why` says in words why it ended there.
    """

    point: Float[np.ndarray, " p"]
    value: float
    gradient: Float[np.ndarray, " p"]
    hessian: Float[np.ndarray, "p p"]
    step: Float[np.ndarray, " p"]
    decrement: float
    num_steps: int
    converged: bool
    why: str


def newton_minimum(
    value: Callable[[Any], Any],
    start: Real[Array | np.ndarray, " p"],
    derivatives: Callable[[Any], tuple[Any, Any]] | None = None,
    *,
    max_steps: int = 100,
    tolerance: float = 1e-12,
) -> NewtonMinimum:
    """w ← w − t d with ∇²l(w) d = ∇l(w), t = 1, ½, ¼, … until l falls by t λ²/4; λ² = ∇l(w)·d.

    `derivatives(w)` is (∇l(w), ∇²l(w)); by default JAX's, of a `value` that it can trace. Where l is infinite or no
    number, the step is halved, so that barriers hold. Where the Hessian is singular, d is the shortest solution; where
    it is indefinite, its eigenvalues count by their modulus, so that d goes downhill, and the end is a local minimum.

    Newton's method goes on until λ² falls no more, which near the minimum is a matter of rounding and of one or two
    steps; it has converged if λ² is then at most `tolerance` times the larger of |l(w)| and what l fell by. A flat
    direction to infinity (separable data without a penalty) also looks like this: there `step` stays long.

    >>> import jax.numpy as jnp
    >>> end = newton_minimum(lambda w: jnp.sum(jnp.cosh(w - 1.0)), np.array([3.0, -2.0]))
    >>> end.point.round(6).tolist(), end.value, end.converged
    ([1.0, 1.0], 2.0, True)
    """
    if derivatives is None:
        value, derivatives = _by_jax(value)
    here = _look(value, derivatives, np.array(start, float))
    if here is None:
        raise ValueError(
            "The function or one of its derivatives is not finite at the start; start where it is finite and smooth."
        )
    first, num_steps, stuck = here.value, 0, False
    while num_steps < max_steps and here.decrement > 0:
        near = here.decrement <= _RESOLVED * here.epsilon * _scale(here, first)  # l no longer shows what a step gains
        size = 0.0 if near else _armijo(value, here)
        there = _look(value, derivatives, here.point - (size or 1.0) * here.step)
        if there is None or (size == 0 and not there.decrement < here.decrement / 4):
            stuck = True
            break
        here, num_steps = there, num_steps + 1
    converged = here.convex and here.decrement <= tolerance * _scale(here, first)
    if not here.convex:
        why = "the Hessian has a negative eigenvalue, so this is no minimum; start elsewhere, or allow more steps"
    elif converged:
        why = "the decrement is at most the tolerance"
    elif stuck:
        why = "no step lowers the function or the decrement; the derivatives may be wrong"
    else:
        why = f"{max_steps} steps were not enough; allow more, or see whether there is a minimum"
    point, level, gradient, hessian, step, decrement, *_ = here
    return NewtonMinimum(point, level, gradient, hessian, step, decrement, num_steps, converged, why)


class _Place(NamedTuple):
    point: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    step: np.ndarray
    decrement: float
    convex: bool
    epsilon: float


def _look(value: Callable, derivatives: Callable, w: np.ndarray) -> _Place | None:
    """The function at w with its Newton step; None where something is not finite."""
    level, (slope, curvature) = float(value(w)), derivatives(w)
    epsilon = float(np.finfo(np.asarray(slope).dtype).eps)
    gradient, hessian = np.asarray(slope, float), np.asarray(curvature, float)
    if not (np.isfinite(level) and np.isfinite(gradient).all() and np.isfinite(hessian).all()):
        return None
    step, convex = _newton_step(gradient, (hessian + hessian.T) / 2, 32 * epsilon * len(w))
    return _Place(w, level, gradient, hessian, step, max(float(gradient @ step), 0.0), convex, epsilon)


def _newton_step(gradient: np.ndarray, hessian: np.ndarray, cut: float) -> tuple[np.ndarray, bool]:
    """|H|⁻¹g, and whether H is positive semidefinite.

    Eigenvalues below the cut count as the largest one: along a direction without curvature rounding must not become a
    step, and a slope becomes a short one.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(hessian, lower=True)
        if np.diag(factor[0]).min() ** 2 > 1e-8 * np.diag(hessian).max():  # far from singular
            return cho_solve(factor, gradient), True
    except LinAlgError:
        pass
    values, vectors = np.linalg.eigh(hessian)
    most = np.abs(values).max()
    if most == 0:
        return gradient, True
    sizes = np.where(np.abs(values) > cut * most, np.abs(values), most)
    return vectors @ ((vectors.T @ gradient) / sizes), bool(values[0] >= -cut * most)


def _armijo(value: Callable, here: _Place) -> float:
    """The first t of 1, ½, ¼, … at which l falls by at least t λ²/4; 0 if there is none."""
    size = 1.0
    while size >= _SHORTEST:
        if float(value(here.point - size * here.step)) <= here.value - _SUFFICIENT * size * here.decrement:
            return size
        size /= 2
    return 0.0


def _scale(here: _Place, first: float) -> float:
    return max(abs(here.value), abs(first - here.value), float(np.finfo(float).tiny))


def _by_jax(value: Callable) -> tuple[Callable, Callable]:
    import jax

    return jax.jit(value), jax.jit(lambda w: (jax.grad(value)(w), jax.hessian(value)(w)))
