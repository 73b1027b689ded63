"""Staying on the orthogonal group during training: how far a matrix is off it, and the steps that come back to it."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree


def orthogonality_defect(W: Float[Array, "n m"]) -> Float[Array, ""]:
    """‖WᵀW - I‖ (Frobenius), 0 for orthonormal columns.

    >>> round(float(orthogonality_defect(2 * jnp.eye(3))), 4)
    5.1962
    """
    return jnp.linalg.norm(W.T @ W - jnp.eye(W.shape[1], dtype=W.dtype))


def retract(W: Float[Array, "n m"], how: str = "qr") -> Float[Array, "n m"]:
    """A matrix with orthonormal columns near W: Q of its QR decomposition with diag R > 0, or its polar factor.

    The polar factor UVᵀ of W = USVᵀ is the nearest one in the Frobenius norm. Absil, Mahony and Sepulchre 2008.

    >>> retract(jnp.array([[3.0, 0.0], [0.0, -2.0]]), "polar").tolist()
    [[1.0, 0.0], [0.0, -1.0]]
    """
    if how == "qr":
        q, r = jnp.linalg.qr(W)
        return q * jnp.where(jnp.diagonal(r) < 0, -1, 1).astype(W.dtype)
    if how == "polar":
        u, _, v = jnp.linalg.svd(W, full_matrices=False)
        return u @ v
    raise ValueError(f"There is no retraction {how!r}; choose qr or polar.")


def cayley_step(
    W: Float[Array, "n n"], skew: Float[Array, "n n"], step_size: float | Float[Array, ""]
) -> Float[Array, "n n"]:
    """W (I - ηΩ/2)⁻¹ (I + ηΩ/2), which stays orthogonal for every skew-symmetric Ω and agrees with W(I + ηΩ) to O(η²).

    >>> turned = cayley_step(jnp.eye(2), jnp.array([[0.0, 1.0], [-1.0, 0.0]]), 0.1)
    >>> bool(orthogonality_defect(turned) < 1e-6)
    True
    """
    half = 0.5 * step_size * skew
    eye = jnp.eye(len(skew), dtype=W.dtype)
    return W @ jnp.linalg.solve(eye - half, eye + half)


def retracted(rule: optax.GradientTransformation, how: str = "qr") -> optax.GradientTransformation:
    """The rule followed by a retraction of every square matrix of at least 2 x 2: θ' = R(θ + u).

    >>> rule = retracted(optax.sgd(0.5))
    >>> W = jnp.eye(2)
    >>> step, _ = rule.update(jnp.array([[0.0, 1.0], [0.0, 0.0]]), rule.init(W), W)
    >>> bool(orthogonality_defect(W + step) < 1e-6)
    True
    """

    def update(gradient: PyTree, state: PyTree, params: PyTree = None) -> tuple[PyTree, PyTree]:
        if params is None:
            raise ValueError("A retracted rule needs the parameters besides the gradient; pass them to update.")
        moved, state = rule.update(gradient, state, params)

        def onto(own: Array, step: Array) -> Array:
            square = own.ndim == 2 and own.shape[0] == own.shape[1] > 1
            return retract(own + step, how) - own if square else step

        return jax.tree.map(onto, params, moved), state

    return optax.GradientTransformation(rule.init, update)
