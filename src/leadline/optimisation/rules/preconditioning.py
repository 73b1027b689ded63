"""Gradient descent in other coordinates: w ← w − ηPg with positive definite P, and the condition number that counts."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from leadline._checks import require

Square = Float[np.ndarray | Array, "p p"]
Kind = str  # one of KINDS
KINDS = ("identity", "diagonal", "inverse root", "inverse", "empirical fisher")


def symmetric_power(matrix: Square, exponent: float) -> Float[np.ndarray, "p p"]:
    """M^a of a positive definite M, by its eigenvalues.

    >>> symmetric_power(np.diag([4.0, 9.0]), -0.5).round(9).tolist()
    [[0.5, 0.0], [0.0, 0.333333333]]
    """
    values, vectors = np.linalg.eigh(np.asarray(matrix, float))
    if values[0] <= 0:
        raise ValueError(
            f"the matrix has the eigenvalue {values[0]:.3g}: a preconditioner must be positive definite; add a "
            "multiple of the identity."
        )
    return (vectors * values**exponent) @ vectors.T


def preconditioner(
    kind: Kind, hessian: Square, *, gradients: Float[np.ndarray, "n p"] | None = None, floor: float = 0.0
) -> Float[np.ndarray, "p p"]:
    """P of the choice: I, diag(H)⁻¹, H^(−1/2), H⁻¹ (Newton), or diag of the mean of gᵢgᵢᵀ, plus `floor`, to the −1/2.

    "inverse root" is P = G^(−1/2) with G = H; Newton's method is G = H². "empirical fisher" needs the sample gradients.

    >>> preconditioner("diagonal", np.array([[2.0, 1.0], [1.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    hessian = np.asarray(hessian, float)
    if kind == "identity":
        return np.eye(len(hessian))
    if kind == "diagonal":
        return np.diag(1 / _positive(np.diagonal(hessian)))
    if kind == "inverse root":
        return symmetric_power(hessian, -0.5)
    if kind == "inverse":
        return symmetric_power(hessian, -1.0)
    if kind == "empirical fisher":
        if gradients is None:
            raise ValueError("'empirical fisher' is made of the gradients of the examples: give gradients=(n, p).")
        return np.diag(_positive(np.mean(np.asarray(gradients, float) ** 2, axis=0) + floor) ** -0.5)
    raise ValueError(f"kind is {kind!r}; give one of {', '.join(KINDS)}.")


def preconditioned_condition(preconditioner: Square, hessian: Square) -> float:
    """λ_max/λ_min of PH, that is of P^½HP^½: gradient descent with P has the rate of this condition number.

    >>> round(preconditioned_condition(np.diag([1.0, 0.25]), np.diag([1.0, 16.0])), 9)
    4.0
    """
    require("preconditioned_condition", axes=2, preconditioner=preconditioner, hessian=hessian)
    root = symmetric_power(preconditioner, 0.5)
    values = np.linalg.eigvalsh(root @ np.asarray(hessian, float) @ root)
    if values[0] <= 0:
        raise ValueError(
            f"PH has the eigenvalue {values[0]:.3g}: a condition number needs a positive definite Hessian."
        )
    return float(values[-1] / values[0])


class _ByMatrix(eqx.Module):
    matrix: Array

    def init(self, parameters: PyTree) -> optax.EmptyState:
        return optax.EmptyState()

    def update(self, gradient: Array, state: optax.EmptyState, parameters: PyTree = None, **extra):
        return self.matrix.astype(gradient.dtype) @ gradient, state


def scale_by_matrix(matrix: Float[np.ndarray | Array, "p q"]) -> optax.GradientTransformation:
    """g ↦ Pg for a vector of parameters, to be chained: optax.chain(scale_by_matrix(P), optax.sgd(η)).

    The iterates are those of gradient descent on u ↦ l(P^½u), mapped back by w = P^½u.

    >>> rule = scale_by_matrix(np.diag([1.0, 0.5]))
    >>> rule.update(jnp.array([2.0, 2.0]), rule.init(jnp.zeros(2)))[0].tolist()
    [2.0, 1.0]
    """
    if np.ndim(matrix) != 2 or np.shape(matrix)[0] != np.shape(matrix)[1]:
        raise ValueError(f"scale_by_matrix got shape {np.shape(matrix)}; give a square matrix, one row per parameter.")
    rule = _ByMatrix(jnp.asarray(matrix, float))
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


def _positive(diagonal: np.ndarray) -> np.ndarray:
    if not np.all(diagonal > 0):
        raise ValueError(f"the diagonal has the entry {diagonal.min():.3g}; all must be above 0: add a floor.")
    return diagonal
