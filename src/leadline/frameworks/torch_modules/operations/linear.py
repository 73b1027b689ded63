"""Matrix products: a weight meets its input in one dot_general, so that dissection and tangent kernels see a layer."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


def same_precision(*arrays: Array) -> tuple[Array, ...]:
    """The arrays in the highest precision among them; XLA's products take no two."""
    dtype = jnp.result_type(*arrays)
    return tuple(a if a.dtype == dtype else a.astype(dtype) for a in arrays)


def _linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x Wᵀ + b for a weight of shape (out, in), or (in,)."""
    x, weight = same_precision(x, weight)
    out = lax.dot_general(x, weight, (((x.ndim - 1,), (weight.ndim - 1,)), ((), ())))
    return out if bias is None else out + bias


def _matmul(a: Array, b: Array) -> Array:
    return jnp.matmul(*same_precision(a, b))


def _with_sum(added: Array, a: Array, b: Array, beta: Any = 1, alpha: Any = 1) -> Array:
    """beta C + alpha A B."""
    product = _matmul(a, b)
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else product + (added if beta == 1 else beta * added)


def _einsum(equation: str, operands: tuple[Array, ...], path: Any = None) -> Array:
    return jnp.einsum(equation, *same_precision(*operands))


def _bilinear(a: Array, b: Array, weight: Array, bias: Array | None = None) -> Array:
    out = jnp.einsum("...i,kij,...j->...k", *same_precision(a, weight, b))
    return out if bias is None else out + bias


def _distances(a: Array, b: Array, p: float = 2.0, compute_mode: Any = None) -> Array:
    """|aᵢ - bⱼ| in the p-norm, with slope 0 where two points are one."""
    gaps = jnp.abs(a[..., :, None, :] - b[..., None, :, :])
    total = jnp.sum(gaps**p, axis=-1)
    return jnp.where(total > 0, jnp.where(total > 0, total, 1) ** (1 / p), 0)


OPERATIONS: dict[str, Callable] = {
    "linear": _linear,
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "outer": lambda a, b: a[:, None] * b[None, :],
    "addmm": _with_sum,
    "addmv": _with_sum,
    "baddbmm": _with_sum,
    "einsum": _einsum,
    "bilinear": _bilinear,
    "cdist": _distances,
    "_cdist_forward": _distances,
}
