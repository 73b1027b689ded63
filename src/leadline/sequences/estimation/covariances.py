"""Products and solves of the small matrices that filters are made of, over any leading axes."""

import functools
import operator

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

SMALL = 4  # up to this size a product is written out, which the compiler fuses with what is around it


def product(left: Float[Array, "... a b"], right: Float[Array, "... b c"]) -> Float[Array, "... a c"]:
    """left @ right."""
    if max(left.shape[-2:] + right.shape[-2:]) > SMALL:
        return left @ right
    terms = (left[..., :, i, None] * right[..., i, None, :] for i in range(left.shape[-1]))
    return functools.reduce(operator.add, terms)


def applied(matrix: Float[Array, "... a b"], vector: Float[Array, "... b"]) -> Float[Array, "... a"]:
    """matrix @ vector."""
    if matrix.shape[-1] > SMALL:
        return (matrix * vector[..., None, :]).sum(-1)
    return functools.reduce(operator.add, (matrix[..., :, i] * vector[..., i, None] for i in range(matrix.shape[-1])))


def turned(matrix: Float[Array, "... a b"]) -> Float[Array, "... b a"]:
    """The transpose of each matrix."""
    return jnp.swapaxes(matrix, -1, -2)


def sandwich(outer: Float[Array, "... a b"], inner: Float[Array, "... b b"]) -> Float[Array, "... a a"]:
    """outer inner outerᵀ, symmetric to the last bit."""
    return symmetric(product(product(outer, inner), turned(outer)))


def symmetric(matrix: Float[Array, "... a a"]) -> Float[Array, "... a a"]:
    """Half the sum with the transpose."""
    return matrix if matrix.shape[-1] == 1 else (matrix + turned(matrix)) / 2


def inverse(matrix: Float[Array, "... a a"]) -> Float[Array, "... a a"]:
    """The inverse, in closed form for one and two rows."""
    size = matrix.shape[-1]
    if size == 1:
        return 1 / matrix
    if size == 2:
        a, b, c, d = (matrix[..., i, j] for i in range(2) for j in range(2))
        rows = [jnp.stack([d, -b], -1), jnp.stack([-c, a], -1)]
        return jnp.stack(rows, -2) / (a * d - b * c)[..., None, None]
    return jnp.linalg.inv(matrix)


def log_determinant(covariance: Float[Array, "... a a"]) -> Float[Array, "..."]:
    """ln det of a positive definite matrix."""
    size = covariance.shape[-1]
    if size == 1:
        return jnp.log(covariance[..., 0, 0])
    if size == 2:
        return jnp.log(covariance[..., 0, 0] * covariance[..., 1, 1] - covariance[..., 0, 1] * covariance[..., 1, 0])
    return jnp.linalg.slogdet(covariance)[1]


def pseudo_inverse(covariance: Float[Array, "... a a"]) -> Float[Array, "... a a"]:
    """The inverse on the range of a positive semi-definite matrix, 0 elsewhere."""
    if covariance.shape[-1] == 1:
        seen = covariance > 0
        return jnp.where(seen, 1 / jnp.where(seen, covariance, 1.0), 0.0)
    return jnp.linalg.pinv(covariance, hermitian=True, rtol=16 * covariance.shape[-1] * jnp.finfo(covariance.dtype).eps)


def root(covariance: Float[Array, "a a"]) -> Float[Array, "a a"]:
    """A matrix L with LLᵀ the positive semi-definite matrix given, singular ones too."""
    values, vectors = jnp.linalg.eigh(covariance)
    return vectors * jnp.sqrt(jnp.maximum(values, 0.0))


def check_covariance(function: str, name: str, matrix: Float[Array, "a a"]) -> None:
    """ValueError where a matrix is not symmetric or has a negative eigenvalue, beyond rounding."""
    if isinstance(matrix, Tracer):
        return
    values = np.asarray(matrix, float)
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{function} got {name} with entries that are not finite; give finite numbers.")
    rounding = 64 * len(values) * float(jnp.finfo(matrix.dtype).eps) * max(np.abs(values).max(), 1e-300)
    if np.abs(values - values.T).max() > rounding:
        raise ValueError(f"{function} got {name}, which is not symmetric; a covariance is its own transpose.")
    least = float(np.linalg.eigvalsh(values)[0])
    if least < -rounding:
        raise ValueError(
            f"{function} got {name} with the eigenvalue {least:.6g}; a covariance is positive semi-definite: give "
            "eigenvalues of 0 or more."
        )
