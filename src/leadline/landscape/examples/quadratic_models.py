"""The quadratic model of a loss around a point, and how far along each eigenvector of the Hessian it can be trusted."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.optimisation import flat_objective

_LARGEST = 3000


class QuadraticModel(NamedTuple):
    """q(w) = l(c) + g·(w − c) + ½ (w − c)ᵀH(w − c); H by its eigenvalues, ascending, and eigenvectors in rows.

    Vectors w are flat: all floating-point arrays of the parameters, one after the other. At a critical point g = 0.
    """

    centre: Float[np.ndarray, " p"]
    value: float
    gradient: Float[np.ndarray, " p"]
    eigenvalues: Float[np.ndarray, " p"]
    eigenvectors: Float[np.ndarray, "p p"]

    def increase(self, step: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch"]:
        """q(c + step) − l(c)."""
        step = np.asarray(step, float)
        return np.asarray(step @ self.gradient + ((step @ self.eigenvectors.T) ** 2) @ self.eigenvalues / 2)

    def __call__(self, w: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch"]:
        return np.asarray(self.value + self.increase(np.asarray(w, float) - self.centre))


class TrustRadii(NamedTuple):
    """How far the model may be followed along each eigenvector, towards +v (first column) and −v (second).

    `radii` is the first distance at which |Δl − Δq| exceeds `tolerance` |Δq|; infinite where that does not happen up
    to the largest distance tried; nan along a direction in which the model is flat to rounding, where no relative
    error can be told.
    """

    model: QuadraticModel
    radii: Float[np.ndarray, "p 2"]
    tolerance: float


def local_quadratic(loss: Callable[..., Any], params: PyTree, *data: PyTree) -> QuadraticModel:
    """The second-order Taylor polynomial of loss(params, *data) at `params`, with the whole Hessian (3000 parameters).

    >>> model = local_quadratic(lambda w: jnp.sum(jnp.cosh(w)), jnp.zeros(2))
    >>> model.eigenvalues.tolist(), float(model(np.array([0.2, 0.0])).round(9))
    ([1.0, 1.0], 2.02)
    """
    objective, w = flat_objective(loss, params, *data)
    if w.size > _LARGEST:
        raise ValueError(
            f"local_quadratic got {w.size} parameters, at most {_LARGEST} fit; use curvature.hessian(...).top(k)."
        )
    value, gradient, hessian = (np.asarray(part, float) for part in _taylor(objective, w))
    if not np.isfinite(hessian).all():
        raise ValueError(
            "The loss has a Hessian that is not finite; give parameters at which it is twice differentiable."
        )
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    return QuadraticModel(np.asarray(w, float), float(value), gradient, values, vectors.T)


def trust_radii(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    tolerance: float = 0.1,
    largest: float = 100.0,
    smallest: float = 1e-4,
) -> TrustRadii:
    """Where the error of the quadratic model passes `tolerance` of the increase it predicts, along ± each eigenvector.

    48 distances from `smallest` to `largest`, a constant factor apart, bracket the first crossing; bisection then
    narrows it to a relative 10⁻⁶. A crossing below `smallest` is reported as `smallest`.

    >>> found = trust_radii(lambda w: jnp.sum(jnp.exp(w) - w), jnp.zeros(1))  # r/3 + r²/12 + … = ± 0.1
    >>> np.abs(np.sort(found.radii[0])).round(3).tolist()
    [0.279, 0.325]
    """
    if not (tolerance > 0 and 0 < smallest < largest):
        raise ValueError(
            f"trust_radii got tolerance {tolerance:g} and distances {smallest:g} to {largest:g}; all must be positive, "
            "the second distance larger."
        )
    objective, w = flat_objective(loss, params, *data)
    model = local_quadratic(loss, params, *data)
    p = w.size
    directions = np.concatenate([model.eigenvectors, -model.eigenvectors])
    slope = model.eigenvectors @ model.gradient
    slopes = np.concatenate([slope, -slope])
    bends = np.tile(model.eigenvalues, 2)
    scale = max(np.abs(model.eigenvalues).max(), np.finfo(float).tiny)
    flat = (np.abs(bends) <= 1e-10 * scale) & (np.abs(slopes) <= 1e-10 * scale)

    def errors(radii: np.ndarray) -> np.ndarray:
        """|Δl − Δq|/|Δq| at one distance along every direction."""
        increase = np.asarray(_values(objective, w, jnp.asarray(directions, w.dtype), jnp.asarray(radii, w.dtype)))
        predicted = radii * slopes + radii**2 * bends / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.abs(increase - model.value - predicted) / np.abs(predicted)
        return np.where(np.isfinite(relative), relative, np.inf)

    grid = np.geomspace(smallest, largest, 48)
    table = np.stack([errors(np.full(2 * p, r)) for r in grid]) > tolerance
    # Below this distance Δl is lost in the rounding of l itself, and its relative error says nothing.
    noise = 100 * np.finfo(np.asarray(w).dtype).eps * max(abs(model.value), 1e-300)
    visible = np.abs(grid[:, None] * slopes + grid[:, None] ** 2 * bends / 2) * tolerance > noise
    table &= visible
    crossed = table.any(axis=0)
    first = np.argmax(table, axis=0)
    low, high = grid[np.maximum(first - 1, 0)], grid[first]
    for _ in range(18):
        middle = np.sqrt(low * high)
        beyond = errors(middle) > tolerance
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    radii = np.where(flat, np.nan, np.where(crossed, high, np.inf))
    return TrustRadii(model, radii.reshape(2, p).T, tolerance)


@eqx.filter_jit
def _taylor(objective: Callable, w: Array) -> tuple[Array, Array, Array]:
    value, gradient = jax.value_and_grad(objective)(w)
    return value, gradient, jax.jacfwd(jax.grad(objective))(w)


@eqx.filter_jit
def _values(objective: Callable, w: Array, directions: Array, radii: Array) -> Array:
    return jax.lax.map(lambda pair: objective(w + pair[0] * pair[1]), (radii, directions), batch_size=64)
