"""Any loss(params, *data) as an objective of one vector, so that instruments and methods need to know only vectors."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import generator

from .objective import Objective, Vector


class FlatLoss(Objective):
    """l(w) = loss(params, *data), where w holds all floating-point arrays of params, one after the other."""

    loss: Callable
    rest: PyTree
    data: tuple
    unravel: Callable = eqx.field(static=True)

    def __call__(self, w: Vector) -> Any:
        return self.loss(self.parameters(w), *self.data)

    def parameters(self, w: Vector) -> PyTree:
        """The parameters that the vector stands for."""
        return eqx.combine(self.unravel(w), self.rest)


@eqx.filter_jit
def _value(objective: Callable, w: Vector) -> Any:
    return objective(w)


@eqx.filter_jit
def _values_and_gradients(objective: Callable, points: Float[Array, "k p"], count: Array) -> tuple[Array, Array]:
    """The first `count` rows; the others stay 0. One program for any number of points up to k."""

    def fill(i: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        value, gradient = jax.value_and_grad(objective)(points[i])
        return found[0].at[i].set(value), found[1].at[i].set(gradient)

    return jax.lax.fori_loop(0, count, fill, (jnp.zeros(len(points), points.dtype), jnp.zeros_like(points)))


def _evaluate(objective: Callable, points: Array | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """l and ∇l at the points, in pieces of one shape, so that each objective is compiled once."""
    points = np.asarray(points)
    size = 64 if points.shape[1] <= 10_000 else 4
    values, gradients = [], []
    for first in range(0, len(points), size):
        piece = points[first : first + size]
        padded = np.zeros((size, points.shape[1]), points.dtype)
        padded[: len(piece)] = piece
        found = _values_and_gradients(objective, jnp.asarray(padded), jnp.asarray(len(piece)))
        values.append(np.asarray(found[0])[: len(piece)])
        gradients.append(np.asarray(found[1])[: len(piece)])
    return np.concatenate(values), np.concatenate(gradients)


def flat_objective(loss: Callable[..., Any], params: PyTree, *data: PyTree) -> tuple[Objective, Vector]:
    """loss(params, *data) as an objective of one vector, and the vector of `params`; it must be finite there.

    An `Objective` of a vector stays what it is, with its certified constants; it is checked where it is evaluated.

    >>> loss = lambda p, y: jnp.sum((p["a"] - y) ** 2) + p["b"] ** 2
    >>> objective, w = flat_objective(loss, {"a": jnp.zeros(2), "b": jnp.array(3.0)}, jnp.ones(2))
    >>> w.shape, float(objective(w)), objective.gradient(w).tolist()
    ((3,), 11.0, [-2.0, -2.0, 6.0])
    """
    if isinstance(loss, Objective) and not data and isinstance(params, jax.Array | np.ndarray) and params.ndim == 1:
        return loss, jnp.asarray(params, dtype=float if params.dtype.kind in "iu" else None)
    arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, params)
    moved, rest = eqx.partition(arrays, eqx.is_inexact_array)
    w, unravel = ravel_pytree(moved)
    rows = tuple(jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, d) for d in data)
    objective = FlatLoss(loss, rest, rows, unravel)
    if w.size == 0:
        raise ValueError("The parameters hold no floating-point array; give weights to differentiate with respect to.")
    shape = getattr(eqx.filter_eval_shape(objective, w), "shape", None)
    if shape != ():
        raise ValueError(f"The loss has shape {shape}; give one that is a single number, such as the mean.")
    value = float(_value(objective, w))
    if not np.isfinite(value):
        raise ValueError(f"The loss is {value} at the given parameters; give some at which it is a finite number.")
    return objective, w


def ball_points(
    centre: Float[Array | np.ndarray, " p"], radius: float, count: int, *, key: PRNGKeyArray
) -> Float[np.ndarray, "count p"]:
    """Points with a uniform direction and a uniform distance in [0, radius] from the centre.

    >>> bool((np.linalg.norm(ball_points(np.zeros(3), 2.0, 50, key=jax.random.key(0)), axis=1) <= 2.0).all())
    True
    """
    centre, rng = np.asarray(centre), generator(key)
    direction = rng.normal(size=(count, centre.size))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return (centre + radius * rng.random((count, 1)) * direction).astype(centre.dtype)


def evaluate_points(
    objective: Callable, points: Float[Array | np.ndarray, "k p"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k p"]]:
    """l and ∇l at each of the points, in rows; values that are not finite are refused.

    >>> values, gradients = evaluate_points(lambda w: w @ w / 2, jnp.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> values.tolist(), gradients.tolist()
    ([0.5, 2.0], [[1.0, 0.0], [0.0, 2.0]])
    """
    values, gradients = _evaluate(objective, points)
    bad = ~(np.isfinite(values) & np.isfinite(gradients).all(axis=1))
    if bad.any():
        raise ValueError(
            f"The loss or its gradient is not finite at {int(bad.sum())} of {len(bad)} points; give a smaller radius."
        )
    return values, gradients
