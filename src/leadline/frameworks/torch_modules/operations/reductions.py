"""Sums, means, extremes, norms and orders along axes."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

Axes = Sequence[int] | int | None


def _axes(dim: Axes) -> tuple[int, ...] | None:
    """None is all axes, and so is an empty list."""
    if dim is None or isinstance(dim, int):
        return None if dim is None else (dim,)
    return tuple(dim) or None


def _reduction(function: Callable) -> Callable:
    def operation(x: Array, dim: Axes = None, keepdim: bool = False, dtype: Any = None) -> Array:
        x = x if dtype is None else x.astype(dtype)
        return function(x, axis=_axes(dim), keepdims=keepdim)

    return operation


def _sum(x: Array, axis: Any, keepdims: bool) -> Array:
    return jnp.sum(x, axis, keepdims=keepdims, dtype=jnp.int64 if x.dtype == bool and jax.config.x64_enabled else None)  # type: ignore[attr-defined]


def _extreme(number: Callable) -> Callable:
    """(values, indices) along one axis; the slope goes to the entry that was taken."""

    def operation(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        indices = number(x, axis=dim, keepdims=True)
        values = jnp.take_along_axis(x, indices, axis=dim)
        return (values, indices) if keepdim else (jnp.squeeze(values, dim), jnp.squeeze(indices, dim))

    return operation


def _index(number: Callable) -> Callable:
    def operation(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        return number(x, axis=dim, keepdims=keepdim)

    return operation


def _variance(x: Array, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> Array:
    return jnp.var(x, axis=_axes(dim), ddof=1 if correction is None else correction, keepdims=keepdim)


def _by_flag(function: Callable) -> Callable:
    """The forms that say `unbiased` in place of a correction."""

    def operation(x: Array, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
        return function(x, dim, int(unbiased), keepdim)

    return operation


def _whole(function: Callable) -> Callable:
    def operation(x: Array, unbiased: bool = True) -> Any:
        return function(x, None, int(unbiased), False)

    return operation


def _deviation(x: Array, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> Array:
    return jnp.sqrt(_variance(x, dim, correction, keepdim))


def _variance_and_mean(x: Array, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> tuple:
    return _variance(x, dim, correction, keepdim), jnp.mean(x, _axes(dim), keepdims=keepdim)


def _norm(x: Array, ord: Any = 2, dim: Axes = None, keepdim: bool = False, dtype: Any = None) -> Array:
    """(Σ |x|^p)^(1/p), with slope 0 where x is 0, as PyTorch has it."""
    axes, size = _axes(dim), jnp.abs(x if dtype is None else x.astype(dtype))
    p = 2 if ord is None else ord
    if p == float("inf"):
        return jnp.max(size, axes, keepdims=keepdim)
    if p == float("-inf"):
        return jnp.min(size, axes, keepdims=keepdim)
    if p == 0:
        return jnp.sum(x != 0, axes, keepdims=keepdim).astype(x.dtype)
    if p == 1:
        return jnp.sum(size, axes, keepdims=keepdim)
    total = jnp.sum(x**2 if p == 2 else size**p, axes, keepdims=keepdim)
    safe = jnp.where(total > 0, total, 1)
    return jnp.where(total > 0, jnp.sqrt(safe) if p == 2 else safe ** (1 / p), 0)


def _top(x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    values, indices = lax.top_k(jnp.moveaxis(x if largest else -x, dim, -1), k)
    values, indices = (jnp.moveaxis(part, -1, dim) for part in (values, indices))
    return values if largest else -values, indices


def _sort(x: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    indices = jnp.argsort(x, axis=dim, stable=True, descending=descending)
    return jnp.take_along_axis(x, indices, axis=dim), indices


def _logsumexp(x: Array, dim: Axes, keepdim: bool = False) -> Array:
    return jax.nn.logsumexp(x, axis=_axes(dim), keepdims=keepdim)


def _cumulative(function: Callable) -> Callable:
    def operation(x: Array, dim: int, dtype: Any = None) -> Array:
        return function(x if dtype is None else x.astype(dtype), axis=dim)

    return operation


OPERATIONS: dict[str, Callable] = {
    "sum": _reduction(_sum),
    "mean": _reduction(jnp.mean),
    "prod": _reduction(jnp.prod),
    "amax": _reduction(jnp.max),
    "amin": _reduction(jnp.min),
    "any": _reduction(jnp.any),
    "all": _reduction(jnp.all),
    "max.default": _reduction(jnp.max),
    "min.default": _reduction(jnp.min),
    "max.dim": _extreme(jnp.argmax),
    "min.dim": _extreme(jnp.argmin),
    "argmax": _index(jnp.argmax),
    "argmin": _index(jnp.argmin),
    "var.correction": _variance,
    "var.dim": _by_flag(_variance),
    "var.default": _whole(_variance),
    "std.correction": _deviation,
    "std.dim": _by_flag(_deviation),
    "std.default": _whole(_deviation),
    "var_mean.correction": _variance_and_mean,
    "logsumexp": _logsumexp,
    "linalg_vector_norm": _norm,
    "norm.Scalar": _norm,
    "norm.ScalarOpt_dim": _norm,
    "topk": _top,
    "sort.default": _sort,
    "sort.stable": lambda x, stable=None, dim=-1, descending=False: _sort(x, dim, descending),
    "argsort.default": lambda x, dim=-1, descending=False: _sort(x, dim, descending)[1],
    "cumsum": _cumulative(jnp.cumsum),
    "cumprod": _cumulative(jnp.cumprod),
}
