"""All directions that a variance-reduced method can take next, for exact means and variances."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

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
