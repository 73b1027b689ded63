"""All directions that a variance-reduced method can take next, for exact means and variances."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leadline.optimisation import LogisticRidge

from ..problems.finite_sum import FiniteSum
from .variance_reduced import Buffer

Vector = Float[Array, " p"]


def buffered_directions(
    problem: FiniteSum, w: Vector, buffer: Buffer, *, weight: float | Array = 1.0
) -> Float[Array, "n p"]:
    """λ(gᵢ(w) − Gᵢ) + Ḡ for every i: all that SAGA (λ = 1) or SAG (λ = 1/n) can do next, from a dense buffer."""
    if buffer.entries.shape[1] != w.size:
        raise ValueError("The directions need a dense buffer; make it with `filled_buffer(..., compact=False)`.")
    return weight * (_gradients(problem, w) - buffer.entries) + buffer.mean


def replayed_buffer(
    objective: LogisticRidge, points: Float[np.ndarray, "points p"], indices: Int[np.ndarray, " steps"], t: int
) -> tuple[Float[np.ndarray, "n p"], Int[np.ndarray, " n"]]:
    """The buffer that a run of SAG or SAGA with these points has before step t, and the age of its entries in steps.

    Entry i is the gradient of example i where the run stood when it last drew i; before that, at w⁰.

    >>> loss = LogisticRidge(np.eye(2), np.array([1.0, -1.0]), 0.0)
    >>> entries, ages = replayed_buffer(loss, np.zeros((3, 2)), np.array([1, 1]), 2)
    >>> (entries + 0.0).tolist(), ages.tolist()
    ([[-0.5, 0.0], [0.0, 0.5]], [2, 1])
    """
    rows = np.arange(len(objective.y))
    seen = np.zeros(len(rows), int)
    np.maximum.at(seen, indices[:t], np.arange(t))
    gradients = np.asarray(objective.sample_gradients(np.asarray(points)[seen]))  # (n, n, p)
    return gradients[rows, rows], t - seen


def snapshot_directions(problem: FiniteSum, w: Vector, snapshot: Vector) -> Float[Array, "n p"]:
    """gᵢ(w) − gᵢ(w_s) + g(w_s) for every i: all that SVRG can do next."""
    at_snapshot = _gradients(problem, snapshot)
    return _gradients(problem, w) - at_snapshot + at_snapshot.mean(axis=0)


def total_variance(directions: Float[Array, "n p"]) -> Float[Array, ""]:
    """(1/n) Σᵢ ‖dᵢ − d̄‖², the variance of a direction drawn uniformly.

    >>> float(total_variance(jnp.array([[1.0, 0.0], [-1.0, 0.0]])))
    1.0
    """
    return jnp.mean(jnp.sum((directions - directions.mean(axis=0)) ** 2, axis=1))


@eqx.filter_jit
def _gradients(problem: FiniteSum, w: Vector) -> Float[Array, "n p"]:
    return problem.gradients(w)
