"""The lasso: least squares with an ℓ1 penalty, its path, and certificates of optimality."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require

Inputs = Real[Array | np.ndarray, "n d"]
Targets = Real[Array | np.ndarray, " n"]
Scalar = float | Float[Array | np.ndarray, ""]


class LassoFit(NamedTuple):
    """The lasso's solution; `violation` is what its optimality conditions miss, relative to the largest penalty."""

    weights: Float[Array, "*k d"]
    bias: Float[Array, "*k"]
    violation: Float[Array, "*k"]


def soft_threshold(z: Float[Array, "*n"], threshold: Scalar) -> Float[Array, "*n"]:
    """sign(z) max(|z| − t, 0), the minimiser of (w − z)²/2 + t|w|.

    >>> soft_threshold(jnp.array([-3.0, 0.5, 2.0]), 1.0).tolist()
    [-2.0, 0.0, 1.0]
    """
    return jnp.sign(z) * jnp.maximum(jnp.abs(z) - threshold, 0.0)


def lasso_ceiling(x: Inputs, y: Targets, *, intercept: bool = True) -> Float[Array, ""]:
    """‖Xᵀy‖∞/n, centred: the least penalty at which all weights are 0.

    >>> float(lasso_ceiling(jnp.array([[-1.0], [1.0]]), jnp.array([0.0, 4.0])))
    2.0
    """
    require("lasso_ceiling", axes=2, x=x)
    require("lasso_ceiling", axes=1, y=y)
    return _ceiling(x, y, intercept)


def lasso(
    x: Inputs, y: Targets, penalty: Scalar, *, intercept: bool = True, tolerance: float = 1e-10, sweeps: int = 50_000
) -> LassoFit:
    """argmin (1/2n)‖y − Xw − b‖² + λ‖w‖₁ by coordinate descent (Friedman, Hastie and Tibshirani 2010).

    Each step minimises exactly in one coordinate: wⱼ ← S(Xⱼᵀr/n + wⱼ‖Xⱼ‖²/n, λ)/(‖Xⱼ‖²/n). It stops when the
    optimality conditions hold up to `tolerance` times the ceiling, or after `sweeps` sweeps. May be mapped.

    >>> fit = lasso(jnp.array([[-1.0], [1.0]]), jnp.array([0.0, 4.0]), 0.5)
    >>> float(fit.weights[0]), float(fit.bias)
    (1.5, 2.0)
    """
    require("lasso", axes=2, x=x)
    require("lasso", axes=1, y=y)
    return _lasso(x, y, penalty, intercept, tolerance, sweeps)


def lasso_path(
    x: Inputs,
    y: Targets,
    penalties: Float[Array | np.ndarray, " k"],
    *,
    intercept: bool = True,
    tolerance: float = 1e-10,
    sweeps: int = 50_000,
) -> LassoFit:
    """`lasso` for every penalty in turn, each from the solution before it; give the penalties from large to small.

    >>> fits = lasso_path(jnp.array([[-1.0], [1.0]]), jnp.array([0.0, 4.0]), jnp.array([2.0, 1.0, 0.0]))
    >>> fits.weights[:, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    require("lasso_path", axes=2, x=x)
    require("lasso_path", axes=1, y=y, penalties=penalties)
    return _path(x, y, penalties, intercept, tolerance, sweeps)


@partial(jax.jit, static_argnames=("intercept", "num_steps"))
def proximal_lasso(
    x: Inputs, y: Targets, penalty: Scalar, *, num_steps: int, intercept: bool = True
) -> Float[Array, " d"]:
    """`num_steps` proximal gradient steps w ← S(w − ∇/L, λ/L) from 0, L the largest eigenvalue of XᵀX/n (ISTA)."""
    x, y, _, _ = _centred(x, y, intercept)
    gram, moment = _moments(x, y)
    curvature = jnp.linalg.eigvalsh(gram)[-1]

    def step(_, w):
        return soft_threshold(w - (gram @ w - moment) / curvature, penalty / curvature)

    return jax.lax.fori_loop(0, num_steps, step, jnp.zeros_like(moment))


class LassoCertificate(NamedTuple):
    """How far weights are from optimal: the optimality conditions and the gap to a dual point, which bounds the excess.

    `correlations` are Xⱼᵀr/n: at the optimum λ sign(wⱼ) on the support and within [−λ, λ] off it.
    """

    correlations: Float[Array, " d"]
    violation: Float[Array, ""]
    gap: Float[Array, ""]
    objective: Float[Array, ""]


@partial(jax.jit, static_argnames="intercept")
def lasso_certificate(
    x: Inputs, y: Targets, weights: Float[Array | np.ndarray, " d"], penalty: Scalar, *, intercept: bool = True
) -> LassoCertificate:
    """The optimality conditions of the lasso at `weights`, and the duality gap.

    Dual: max (1/2n)‖y‖² − (n/2)‖θ − y/n‖² over ‖Xᵀθ‖∞ ≤ λ; the point is the residual r/n, scaled to be feasible.

    >>> proof = lasso_certificate(jnp.array([[-1.0], [1.0]]), jnp.array([0.0, 4.0]), jnp.array([1.5]), 0.5)
    >>> float(proof.violation), float(proof.gap)
    (0.0, 0.0)
    """
    x, y, _, _ = _centred(x, y, intercept)
    weights = jnp.asarray(weights, x.dtype)
    n = len(y)
    residual = y - x @ weights
    correlations = x.T @ residual / n
    largest = jnp.max(jnp.abs(correlations))
    theta = residual / n * jnp.minimum(1.0, penalty / jnp.where(largest > 0, largest, 1.0))
    objective = residual @ residual / (2 * n) + penalty * jnp.sum(jnp.abs(weights))
    dual = y @ y / (2 * n) - n / 2 * jnp.sum((theta - y / n) ** 2)
    return LassoCertificate(correlations, _miss(correlations, weights, penalty), objective - dual, objective)


@partial(jax.jit, static_argnames="intercept")
def _ceiling(x, y, intercept):
    x, y, _, _ = _centred(x, y, intercept)
    return jnp.max(jnp.abs(x.T @ y)) / len(y)


@partial(jax.jit, static_argnames=("intercept", "sweeps"))
def _lasso(x, y, penalty, intercept, tolerance, sweeps):
    x, y, x_mean, y_mean = _centred(x, y, intercept)
    gram, moment = _moments(x, y)
    weights, violation = _descend(gram, moment, penalty, jnp.zeros_like(moment), tolerance, sweeps)
    return LassoFit(weights, y_mean - x_mean @ weights, violation)


@partial(jax.jit, static_argnames=("intercept", "sweeps"))
def _path(x, y, penalties, intercept, tolerance, sweeps):
    x, y, x_mean, y_mean = _centred(x, y, intercept)
    gram, moment = _moments(x, y)

    def step(start, penalty):
        weights, violation = _descend(gram, moment, penalty, start, tolerance, sweeps)
        return weights, (weights, violation)

    _, (weights, violation) = jax.lax.scan(step, jnp.zeros_like(moment), jnp.asarray(penalties, x.dtype))
    return LassoFit(weights, y_mean - weights @ x_mean, violation)


def _centred(x, y, intercept):
    x, y = jnp.asarray(x, jnp.result_type(float, x)), jnp.asarray(y, jnp.result_type(float, y))
    if not intercept:
        return x, y, jnp.zeros(x.shape[1], x.dtype), jnp.zeros((), y.dtype)
    x_mean, y_mean = x.mean(axis=0), y.mean()
    return x - x_mean, y - y_mean, x_mean, y_mean


def _moments(x, y):
    return x.T @ x / len(y), x.T @ y / len(y)


def _miss(correlations, weights, penalty):
    on = jnp.abs(correlations - penalty * jnp.sign(weights))
    off = jnp.maximum(jnp.abs(correlations) - penalty, 0.0)
    return jnp.max(jnp.where(weights != 0, on, off))


def _descend(gram, moment, penalty, start, tolerance, sweeps):
    ceiling = jnp.max(jnp.abs(moment))
    tolerance = jnp.maximum(tolerance, 20 * jnp.finfo(gram.dtype).eps)
    diagonal = jnp.diagonal(gram)

    def coordinate(j, w):
        value = soft_threshold(moment[j] - gram[j] @ w + diagonal[j] * w[j], penalty)
        return w.at[j].set(jnp.where(diagonal[j] > 0, value / jnp.where(diagonal[j] > 0, diagonal[j], 1.0), 0.0))

    def violation(w):
        return _miss(moment - gram @ w, w, penalty)

    def unfinished(state):
        w, sweep = state
        return (violation(w) > tolerance * ceiling) & (sweep < sweeps)

    def sweep(state):
        w, count = state
        return jax.lax.fori_loop(0, len(moment), coordinate, w), count + 1

    weights, _ = jax.lax.while_loop(unfinished, sweep, (start, 0))
    return weights, violation(weights) / jnp.where(ceiling > 0, ceiling, 1.0)
