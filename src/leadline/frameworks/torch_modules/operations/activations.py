"""Activation functions, with the slopes that PyTorch has at their kinks."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def _hard_tanh(x: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """The slope at the ends themselves is 0, as PyTorch has it."""
    inside = (x > min_val) & (x < max_val)
    end = jnp.where(x >= max_val, jnp.asarray(max_val, x.dtype), jnp.asarray(min_val, x.dtype))
    return jnp.where(inside, x, end)


def _elu(x: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    below = alpha * jnp.expm1(jnp.where(x > 0, 0, x) * input_scale)
    return scale * jnp.where(x > 0, x, below)


def _gelu(x: Array, approximate: str = "none") -> Array:
    return jax.nn.gelu(x, approximate=approximate == "tanh")


def _softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(βx))/β, and x itself where βx is beyond the threshold."""
    scaled = x * beta
    return jnp.where(scaled > threshold, x, jnp.logaddexp(jnp.where(scaled > threshold, 0, scaled), 0) / beta)


def _prelu(x: Array, weight: Array) -> Array:
    if weight.ndim == 1 and weight.size > 1 and x.ndim > 1:  # one slope for each channel, the second axis
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    return jnp.where(x > 0, x, weight * x)


def _glu(x: Array, dim: int = -1) -> Array:
    a, b = jnp.split(x, 2, axis=dim)
    return a * jax.nn.sigmoid(b)


def _logit(x: Array, eps: float | None = None) -> Array:
    x = x if eps is None else jnp.clip(x, eps, 1 - eps)
    return jnp.log(x / (1 - x))


def _softmax(x: Array, dim: int, dtype: Any = None) -> Array:
    """`dtype` is True or False in the form that is called _softmax: half precision given, single asked for."""
    return jax.nn.softmax(x.astype(dtype) if isinstance(dtype, np.dtype) else x, axis=dim)


def _log_softmax(x: Array, dim: int, dtype: Any = None) -> Array:
    return jax.nn.log_softmax(x.astype(dtype) if isinstance(dtype, np.dtype) else x, axis=dim)


def _safe_softmax(x: Array, dim: int, dtype: Any = None) -> Array:
    """Rows that are masked out wholly give 0."""
    hidden = jnp.all(jnp.isneginf(x), axis=dim, keepdims=True)
    return jnp.where(hidden, 0, _softmax(jnp.where(hidden, 0, x), dim, dtype))


def _rrelu(x: Array, lower: float, upper: float) -> Array:
    """Its mean slope, which it has in evaluation mode."""
    return jnp.where(x >= 0, x, x * ((lower + upper) / 2))


OPERATIONS: dict[str, Callable] = {
    "relu": jax.nn.relu,
    "relu6": lambda x: _hard_tanh(x, 0.0, 6.0),
    "sigmoid": jax.nn.sigmoid,
    "silu": jax.nn.silu,
    "gelu": _gelu,
    "elu": _elu,
    "celu": lambda x, alpha=1.0: _elu(x, alpha, 1.0, 1 / alpha),
    "selu": lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805),
    "leaky_relu": lambda x, negative_slope=0.01: jnp.where(x > 0, x, negative_slope * x),
    "rrelu": lambda x, lower=1 / 8, upper=1 / 3, *_: _rrelu(x, lower, upper),
    "rrelu_with_noise": lambda x, noise, lower=1 / 8, upper=1 / 3, *_: _rrelu(x, lower, upper),
    "rrelu_with_noise_functional": lambda x, noise, lower=1 / 8, upper=1 / 3, *_: (_rrelu(x, lower, upper),),
    "prelu": _prelu,
    "_prelu_kernel": lambda x, weight: jnp.where(x > 0, x, weight * x),
    "softplus": _softplus,
    "mish": lambda x: x * jnp.tanh(_softplus(x)),
    "hardtanh": _hard_tanh,
    "hardsigmoid": lambda x: _hard_tanh(x + 3, 0.0, 6.0) / 6,
    "hardswish": lambda x: x * jnp.clip(x + 3, 0, 6) / 6,
    "hardshrink": lambda x, lambd=0.5: jnp.where(jnp.abs(x) <= lambd, 0, x),
    "softshrink": lambda x, lambd=0.5: jnp.where(jnp.abs(x) > lambd, x - jnp.sign(x) * lambd, 0),
    "threshold": lambda x, threshold, value: jnp.where(x <= threshold, jnp.asarray(value, x.dtype), x),
    "log_sigmoid": jax.nn.log_sigmoid,
    "glu": _glu,
    "logit": _logit,
    "softmax": _softmax,
    "_softmax": _softmax,
    "log_softmax": _log_softmax,
    "_log_softmax": _log_softmax,
    "_safe_softmax": _safe_softmax,
    "special_ndtr": lambda x: 0.5 * jax.scipy.special.erfc(-x * math.sqrt(0.5)),
}
