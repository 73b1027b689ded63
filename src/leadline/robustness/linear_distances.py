"""Classifiers with scores linear in the input: the exact smallest change that changes the decision."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from leadline._arrays import namespace
from leadline._checks import require
from leadline.networks import dual_exponent

from .attacks.gradient_attacks import Inputs, Scores
from .attacks.norm_projections import p_norm, steepest_direction


class LinearScores(NamedTuple):
    """f(x) = W x + b, with the input as one row of numbers."""

    weights: Float[Array | np.ndarray, "k d"]
    bias: Float[Array | np.ndarray, " k"]

    def __call__(self, x: Inputs) -> Float[Array | np.ndarray, "n k"]:
        return x.reshape(len(x), -1) @ self.weights.T + self.bias


def boundary_distances(scores: LinearScores, x: Inputs, p: float = 2.0) -> Float[Array | np.ndarray, "n k"]:
    """The p-norm distance of each input to the tie with class k: (f_y − f_k)/‖w_y − w_k‖_q, y the decision at x.

    1/p + 1/q = 1; ∞ in the column of y. The least of a row is the exact distance to another decision: the region of y
    is an intersection of half-spaces.

    >>> line = LinearScores(jnp.array([[3.0, 4.0], [0.0, 0.0]]), jnp.zeros(2))
    >>> [round(float(boundary_distances(line, jnp.array([[1.0, 1.0]]), p)[0, 1]), 4) for p in (1, 2, math.inf)]
    [1.75, 1.4, 1.0]
    """
    require("boundary_distances", x=x)
    f = scores(x)
    xp = namespace(f)
    y = xp.argmax(f, axis=1)
    slopes = p_norm(scores.weights[y][:, None] - scores.weights[None], dual_exponent(p))  # (n, k)
    gaps = xp.take_along_axis(f, y[:, None], axis=1) - f
    own = xp.arange(f.shape[1]) == y[:, None]
    reach = xp.where(slopes > 0, gaps / xp.where(slopes > 0, slopes, 1), xp.where(gaps > 0, math.inf, 0.0))
    return xp.where(own, math.inf, reach)


def minimal_perturbation(
    scores: LinearScores, x: Inputs, p: float = 2.0, *, target: Int[Array | np.ndarray, " n"] | None = None
) -> Float[Array | np.ndarray, "n d"]:
    """The smallest η in the p-norm with a tie at x + η: towards `target`, or towards the nearest other class.

    η = (f_y − f_k)/‖w_k − w_y‖_q · u, u the steepest direction of (w_k − w_y)·u; for p = 2 it is
    (f_y − f_k)/‖w_k − w_y‖² (w_k − w_y). It lands on the boundary: any longer multiple crosses it.

    >>> line = LinearScores(jnp.array([[3.0, 4.0], [0.0, 0.0]]), jnp.zeros(2))
    >>> [round(float(v), 2) for v in minimal_perturbation(line, jnp.array([[1.0, 1.0]]))[0]]
    [-0.84, -1.12]
    """
    distances = boundary_distances(scores, x, p)
    xp = namespace(distances)
    k = xp.argmin(distances, axis=1) if target is None else xp.asarray(target)
    y = xp.argmax(scores(x), axis=1)
    length = xp.take_along_axis(distances, k[:, None], axis=1)
    return length * steepest_direction(scores.weights[k] - scores.weights[y], p)


def linear_scores(apply: Scores, params: PyTree, x: Inputs) -> LinearScores | None:
    """W and b where the scores are affine in the inputs, up to rounding on the rows x; None where they are not.

    >>> w = jnp.array([[1.0, 2.0], [0.0, 1.0]])
    >>> linear_scores(lambda w, x: x @ w.T + 1.0, w, jnp.eye(2)).weights.tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    >>> linear_scores(lambda w, x: (x @ w.T) ** 2, w, jnp.eye(2)) is None
    True
    """
    x = jnp.asarray(x)
    f, slope = (np.asarray(part, np.float64) for part in _expanded(apply, params, x))
    rows, weights = np.asarray(x, np.float64).reshape(len(x), -1), slope.reshape(f.shape[1], -1)
    bias = f[0] - weights @ rows[0]
    size = np.abs(rows) @ np.abs(weights).T + np.abs(bias)
    misses = np.abs(rows @ weights.T + bias - f)
    rounding = float(jnp.finfo(x.dtype).eps) * 4 * math.sqrt(rows.shape[1])
    if not (misses <= rounding * size + rounding * np.abs(f)).all():
        return None
    return LinearScores(weights.astype(x.dtype), bias.astype(x.dtype))


@eqx.filter_jit
def _expanded(apply, params, x) -> tuple[Array, Array]:
    return apply(params, x), jax.jacrev(lambda one: apply(params, one[None])[0])(x[0])
