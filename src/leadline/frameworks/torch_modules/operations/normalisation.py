"""Normalisations: by running statistics (batch), by those of an example (layer, group, instance), by norms."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


def _along_channels(value: Array, ndim: int) -> Array:
    return value.reshape(-1, *[1] * (ndim - 2))


def _affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _batch_norm(x: Array, weight: Any, bias: Any, mean: Array, variance: Array, eps: float) -> Array:
    """(x - m)/√(v + ε) · γ + β with the running mean and variance, which are constants here."""
    scale = lax.rsqrt(variance + eps)
    shifted = (x - _along_channels(mean, x.ndim)) * _along_channels(scale, x.ndim)
    parts = (None if part is None else _along_channels(part, x.ndim) for part in (weight, bias))
    return _affine(shifted, *parts)


def _standardised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    mean = jnp.mean(x, axes, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, axes, keepdims=True) + eps)


def _layer_norm(
    x: Array, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Array:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return _affine(_standardised(x, axes, eps), weight, bias)


def _rms_norm(x: Array, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Array:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    eps = float(jnp.finfo(x.dtype).eps) if eps is None else eps
    return _affine(x * lax.rsqrt(jnp.mean(x**2, axes, keepdims=True) + eps), weight, None)


def _group_norm(x: Array, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Array:
    grouped = x.reshape(x.shape[0], num_groups, -1)
    out = _standardised(grouped, (2,), eps).reshape(x.shape)
    return _affine(out, *(None if part is None else _along_channels(part, x.ndim) for part in (weight, bias)))


def _instance_norm(
    x: Array,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Array:
    if not use_input_stats:
        return _batch_norm(x, weight, bias, running_mean, running_var, eps)
    out = _standardised(x, tuple(range(2, x.ndim)), eps)
    return _affine(out, *(None if part is None else _along_channels(part, x.ndim) for part in (weight, bias)))


def _weight_norm(v: Array, g: Array, dim: int = 0) -> Array:
    """g v/|v|, the norm over all axes but `dim`."""
    axes = tuple(range(v.ndim)) if dim == -1 else tuple(a for a in range(v.ndim) if a != dim % v.ndim)
    return v * (g / jnp.sqrt(jnp.sum(v**2, axes, keepdims=dim != -1)))


OPERATIONS: dict[str, Callable] = {
    "batch_norm": lambda x, w, b, mean, var, training, momentum, eps, *_: _batch_norm(x, w, b, mean, var, eps),
    "_native_batch_norm_legit_no_training": lambda x, w, b, mean, var, momentum, eps: (
        _batch_norm(x, w, b, mean, var, eps),
    ),
    "layer_norm": _layer_norm,
    "native_layer_norm": lambda *arguments: (_layer_norm(*arguments),),
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "native_group_norm": lambda x, w, b, n, channels, space, groups, eps: (_group_norm(x, groups, w, b, eps),),
    "instance_norm": _instance_norm,
    "_weight_norm": _weight_norm,
    "_weight_norm_interface": lambda v, g, dim=0: (_weight_norm(v, g, dim),),
}
