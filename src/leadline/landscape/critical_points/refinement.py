"""From a point near a critical point to the critical point, whatever its index."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline import curvature
from leadline.optimisation import flat_objective
from leadline.optimisation.objectives.any_loss import FlatLoss, evaluate_points
from leadline.optimisation.objectives.objective import Objective

_DENSE = 1000
_ONE_PROGRAM = 64


class Refinement(NamedTuple):
    """The parameters reached and ‖∇l‖ at the start and after every step; `converged` where it fell to the tolerance."""

    params: PyTree
    gradient_norms: Float[np.ndarray, " steps"]
    converged: bool


def refine_critical_point(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    method: Literal["newton", "gradient norm"] = "newton",
    num_steps: int = 50,
    tolerance: float | None = None,
) -> Refinement:
    """Solve ∇l = 0 from `params`: it goes to minima, saddles and maxima alike.

    "newton": w − H⁺g, halved until ‖g‖ falls (H⁺ without eigenvalues below 1e-10 ‖H‖; MINRES on products above 1000
    parameters). "gradient norm": L-BFGS (SciPy) on ½‖g‖², whose gradient is Hg; it may end where Hg = 0 and g is not,
    which `converged` shows. The tolerance on ‖g‖ is ε^{3/4}(1 + |l|) unless given.

    >>> saddle = lambda w: jnp.sin(w[0]) * jnp.cos(w[1])
    >>> found = refine_critical_point(saddle, jnp.array([0.1, 1.4]))
    >>> found.converged, bool(jnp.allclose(found.params, jnp.array([0.0, jnp.pi / 2]), atol=1e-5))
    (True, True)
    """
    if method not in ("newton", "gradient norm"):
        raise ValueError(f"method = {method!r} is unknown; give 'newton' or 'gradient norm'.")
    if num_steps < 1:
        raise ValueError(f"num_steps = {num_steps} refines nothing; give at least 1.")
    objective, start = flat_objective(loss, params, *data)
    w = np.asarray(start)
    if tolerance is None:
        values, _ = evaluate_points(objective, w[None])
        tolerance = float(np.finfo(w.dtype).eps ** 0.75 * (1 + abs(values[0])))
    run = _newton if method == "newton" else _gradient_norm_descent
    w, norms = run(objective, w, num_steps, tolerance)
    reached = jnp.asarray(w, start.dtype)
    found = objective.parameters(reached) if isinstance(objective, FlatLoss) else reached
    return Refinement(found, np.array(norms), norms[-1] <= tolerance)


def _newton(objective: Callable, w: np.ndarray, num_steps: int, tolerance: float) -> tuple[np.ndarray, list[float]]:
    gradient = evaluate_points(objective, w[None])[1][0]
    norms = [float(np.linalg.norm(gradient))]
    halvings = 2.0 ** -np.arange(12.0)
    for _ in range(num_steps):
        if norms[-1] <= tolerance:
            break
        step = _newton_step(objective, w, gradient)
        tried = (w - halvings[:, None] * step).astype(w.dtype)
        gradients = evaluate_points(objective, tried)[1]
        lengths = np.linalg.norm(gradients, axis=1)
        falls = np.flatnonzero(lengths < norms[-1])
        if not falls.size:
            break
        w, gradient = tried[falls[0]], gradients[falls[0]]
        norms.append(float(lengths[falls[0]]))
    return w, norms


def _newton_step(objective: Callable, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    _, _, matrix = second_order_at(objective, jnp.asarray(w), dense=w.size <= _DENSE)
    if matrix is not None:
        values, vectors = np.linalg.eigh(matrix)
        kept = np.abs(values) > 1e-10 * np.abs(values).max()
        return vectors[:, kept] @ ((vectors[:, kept].T @ gradient) / values[kept])
    from scipy.sparse.linalg import LinearOperator, minres

    hessian = curvature.hessian(objective, jnp.asarray(w))
    product = LinearOperator((w.size, w.size), lambda v: np.asarray(hessian(v.ravel().astype(w.dtype))), dtype=w.dtype)
    return minres(product, gradient, rtol=1e-3, maxiter=200)[0]


def _gradient_norm_descent(
    objective: Callable, w: np.ndarray, num_steps: int, tolerance: float
) -> tuple[np.ndarray, list[float]]:
    from scipy.optimize import minimize

    def value_and_slope(point: np.ndarray) -> tuple[float, np.ndarray]:
        gradient, slope = _gradient_and_product(objective, jnp.asarray(point, w.dtype))
        return float(gradient @ gradient) / 2, np.asarray(slope, float)

    norms = [float(np.sqrt(2 * value_and_slope(w)[0]))]

    def record(intermediate_result: Any) -> None:
        norms.append(float(np.sqrt(2 * intermediate_result.fun)))
        if norms[-1] <= tolerance:
            raise StopIteration

    options = {"maxiter": 40 * num_steps, "ftol": 0.0, "gtol": 0.0}
    found = minimize(
        value_and_slope, np.asarray(w, float), jac=True, method="L-BFGS-B", callback=record, options=options
    )
    return found.x.astype(w.dtype), norms


def second_order_at(
    objective: Callable, w: Float[Array, " p"], *, dense: bool
) -> tuple[float, Float[np.ndarray, " p"], Float[np.ndarray, "p p"] | None]:
    """l, ∇l and, if `dense`, ∇²l at a point: up to 64 parameters in one program, above with products in pieces.

    >>> second_order_at(lambda w: w @ w, jnp.ones(2), dense=True)[2].tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if dense and w.size <= _ONE_PROGRAM:
        value, gradient, matrix = (np.asarray(part) for part in _derivatives(objective, w))
        if not (np.isfinite(gradient).all() and np.isfinite(matrix).all()):
            raise ValueError(
                "The gradient or the Hessian is not finite at the point; give one where the loss is smooth."
            )
        return float(value), gradient, (matrix + matrix.T) / 2
    values, gradients = evaluate_points(objective, np.asarray(w)[None])
    return float(values[0]), gradients[0], curvature.hessian(objective, w).dense() if dense else None


@eqx.filter_jit
def _derivatives(objective: Callable, w: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    if isinstance(objective, Objective):  # it may have formulas of its own
        return *objective.value_and_gradient(w), objective.hessian(w)
    return *jax.value_and_grad(objective)(w), jax.hessian(objective)(w)


@eqx.filter_jit
def _gradient_and_product(objective: Callable, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    gradient, back = jax.vjp(jax.grad(objective), w)
    return gradient, back(gradient)[0]
