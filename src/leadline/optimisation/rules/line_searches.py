"""Line searches: the exact step along a direction, on its own and as an Optax rule, and backtracking by Optax."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

Vector = Float[Array, " p"]


@eqx.filter_jit
def _line_slope(function: Callable, w: Vector, direction: Vector, eta: Array) -> Array:
    return jnp.vdot(jax.grad(function)(w + eta * direction), direction)


def exact_step(
    function: Callable[[Vector], Float[Array, ""]],
    w: Float[Array | np.ndarray, " p"],
    direction: Float[Array | np.ndarray, " p"],
    *,
    longest: float = 1e6,
) -> float:
    """The least η > 0 at which φ(η) = l(w + ηd) stops falling: Brent's root of φ′ after doubling η until φ′ ≥ 0.

    For convex l this is the argmin over η ≥ 0; on ½wᵀHw − bᵀw it is −⟨g, d⟩/dᵀHd.

    >>> round(exact_step(lambda w: w @ w, jnp.array([1.0, 1.0]), jnp.array([-1.0, 0.0])), 6)
    1.0
    """
    from scipy.optimize import brentq

    w, direction = jnp.asarray(w), jnp.asarray(direction)

    def slope(eta: float) -> float:
        value = float(_line_slope(function, w, direction, jnp.asarray(eta, w.dtype)))
        if not np.isfinite(value):
            raise ValueError(f"The slope of the loss is {value} at step {eta:g}; give a shorter direction.")
        return value

    if not slope(0.0) < 0:
        raise ValueError("exact_step needs a direction of descent, ⟨∇l, d⟩ < 0; this one does not go down.")
    far = 1.0
    while slope(far) < 0:
        if far > longest:
            raise ValueError(
                f"The loss still falls at step {far:g}: no minimum along this direction up to {longest:g}."
            )
        far *= 2
    return float(brentq(slope, 0.0, far, xtol=1e-15, rtol=8.9e-16))


class _NoState(NamedTuple):
    pass


def scale_by_exact_linesearch(refinements: int = 1) -> optax.GradientTransformationExtraArgs:
    """Scale an update d by η = −⟨g, d⟩/dᵀHd, the exact line search on quadratics; chain it after any direction.

    Elsewhere `refinements` Newton steps are made on φ′(η) = 0 from η = 0. It needs `value_fn`, which `descend` gives.

    >>> rule = optax.chain(optax.sgd(1.0), scale_by_exact_linesearch())
    >>> from leadline.optimisation import descend
    >>> descend(lambda w: 4 * w @ w, rule, jnp.ones(2), 1).points[-1].tolist()
    [0.0, 0.0]
    """

    def init(parameters: PyTree) -> _NoState:
        return _NoState()

    def update(updates: PyTree, state: _NoState, parameters: PyTree = None, *, value_fn: Callable, **_: PyTree):
        gradient_of = jax.grad(value_fn)

        def newton(_: int | Array, eta: Array) -> Array:
            point = optax.tree.add_scale(parameters, eta, updates)
            gradient, bent = jax.jvp(gradient_of, (point,), (updates,))
            curvature = optax.tree.vdot(updates, bent)
            return eta - jnp.where(curvature != 0, optax.tree.vdot(gradient, updates) / curvature, 0.0)

        zero = jnp.zeros((), jax.tree.leaves(parameters)[0].dtype)
        eta = jax.lax.fori_loop(0, refinements, newton, zero)
        return optax.tree.scale(eta, updates), state

    return optax.GradientTransformationExtraArgs(init, update)


def backtracking_descent(*, decrease: float = 1e-4, factor: float = 0.5) -> optax.GradientTransformationExtraArgs:
    """Gradient descent with Armijo's rule: the longest of 1, ½, ¼, … with l(w − ηg) ≤ l(w) − c η‖g‖², by Optax.

    >>> from leadline.optimisation import descend
    >>> descend(lambda w: 4 * w @ w, backtracking_descent(), jnp.ones(1), 1).points[-1].tolist()
    [0.0]
    """
    search = optax.scale_by_backtracking_linesearch(
        max_backtracking_steps=60,
        slope_rtol=decrease,
        decrease_factor=factor,
        increase_factor=float("inf"),
        max_learning_rate=1.0,
    )
    return optax.chain(optax.sgd(1.0), search)
