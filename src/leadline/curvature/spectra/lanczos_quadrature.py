"""Gauss quadrature of an operator's spectral measure at a vector, by Lanczos with full reorthogonalisation."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from leadline._checks import require_counts

from ..operators.symmetric_map import SymmetricMap


class Quadrature(NamedTuple):
    """For every starting vector v: vᵀf(A)v / ‖v‖² ≈ Σ_j weights_j f(nodes_j); weights are ≥ 0 and sum to 1."""

    nodes: Float[np.ndarray, "k m"]
    weights: Float[np.ndarray, "k m"]


class Tridiagonals(NamedTuple):
    """Diagonal and off-diagonal of T = QᵀA Q over the Krylov space of each starting vector."""

    diagonal: Float[np.ndarray, "k m"]
    beside: Float[np.ndarray, "k m_less_one"]

    def quadrature(self, num_steps: int | None = None) -> Quadrature:
        """Nodes are the eigenvalues of T, or of its first `num_steps` rows; weights the squares of first components."""
        m = self.diagonal.shape[1] if num_steps is None else num_steps
        T = np.zeros((len(self.diagonal), m, m))
        i = np.arange(m)
        T[:, i, i] = self.diagonal[:, :m]
        T[:, i[1:], i[:-1]] = T[:, i[:-1], i[1:]] = self.beside[:, : m - 1]
        nodes, vectors = np.linalg.eigh(T)
        return Quadrature(nodes, vectors[:, 0, :] ** 2)


def tridiagonals(operator: SymmetricMap, vectors: Float[Array, "k p"], num_steps: int) -> Tridiagonals:
    """`num_steps` products for every row of `vectors`, one row after the other: memory for one product and `num_steps`
    vectors.

    Refuses products that are not finite.
    """
    found = Tridiagonals(
        *(np.asarray(part, np.float64) for part in _all(operator, vectors, min(num_steps, operator.size)))
    )
    if not all(np.isfinite(part).all() for part in found):
        raise ValueError("A product with the operator is not finite; give parameters at which the loss is finite.")
    return found


def spectral_quadrature(operator: SymmetricMap, vectors: Float[Array, "k p"], num_steps: int) -> Quadrature:
    """The Gauss quadrature of the measure Σᵢ (vᵀuᵢ)² δ_{λᵢ}/‖v‖² for every row v, by `num_steps` products each.

    Exact for polynomials of degree < 2·steps (Golub and Meurant 2010). Where the Krylov space of v ends early, because
    A has few distinct eigenvalues, the nodes ARE these eigenvalues and the rest have weight 0.

    >>> from leadline.curvature import hessian
    >>> h = hessian(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.ones(2))
    >>> found = spectral_quadrature(h, jnp.array([[1.0, 1.0]]), 2)
    >>> found.nodes.round(6).tolist(), found.weights.round(6).tolist()
    ([[2.0, 6.0]], [[0.5, 0.5]])
    """
    require_counts("spectral_quadrature", num_steps=num_steps)
    return tridiagonals(operator, vectors, num_steps).quadrature()


@eqx.filter_jit
def _all(operator: SymmetricMap, vectors: Float[Array, "k p"], num_steps: int) -> tuple[Array, Array]:
    return lax.map(lambda v: _tridiagonal(operator, v, num_steps), vectors)


def _tridiagonal(operator: SymmetricMap, v: Float[Array, " p"], num_steps: int) -> tuple[Array, Array]:
    """Lanczos, orthogonalised twice; once the Krylov space is exhausted T goes on with decoupled rows."""
    start = v / jnp.linalg.norm(v)
    small = operator.size**0.5 * jnp.finfo(start.dtype).eps

    def step(state: tuple, k: Array) -> tuple:
        basis, q, size = state
        basis = basis.at[k].set(q)
        image = operator(q)
        a = q @ image
        rest = image - (basis @ image) @ basis
        rest = rest - (basis @ rest) @ basis
        b = jnp.linalg.norm(rest)
        size = jnp.maximum(size, jnp.abs(a) + b)
        ended = b <= small * size
        rest = jnp.where(ended, 0.0, rest / jnp.where(ended, 1.0, b))
        return (basis, rest, size), (a, jnp.where(ended, 0.0, b), jnp.any(q != 0))

    nothing = (jnp.zeros((num_steps, operator.size), start.dtype), start, jnp.zeros((), start.dtype))
    _, (a, b, alive) = lax.scan(step, nothing, jnp.arange(num_steps))
    return jnp.where(alive, a, a[0]), b[:-1]
