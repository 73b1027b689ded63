"""Arrays that are made inside a network: constants, ranges, triangles."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array


def _full(size: Sequence[int], value: Any, dtype: Any = None) -> Array:
    return jnp.full(tuple(size), value, dtype)


def _constant(value: Any) -> Callable:
    return lambda size, dtype=None: _full(size, value, jnp.float32 if dtype is None else dtype)


def _alike(value: Any) -> Callable:
    return lambda x, dtype=None: jnp.full_like(x, value, dtype)


def _new(value: Any) -> Callable:
    return lambda x, size, dtype=None: _full(size, value, x.dtype if dtype is None else dtype)


def _new_full(x: Array, size: Sequence[int], value: Any, dtype: Any = None) -> Array:
    return _full(size, value, x.dtype if dtype is None else dtype)


OPERATIONS: dict[str, Callable] = {
    "arange.default": lambda end, dtype=None: jnp.arange(end, dtype=dtype),
    "arange.start": lambda start, end, dtype=None: jnp.arange(start, end, dtype=dtype),
    "arange.start_step": lambda start, end, step=1, dtype=None: jnp.arange(start, end, step, dtype=dtype),
    "linspace": lambda start, end, steps, dtype=None: jnp.linspace(start, end, steps, dtype=dtype),
    "eye.default": lambda n, dtype=None: jnp.eye(n, dtype=jnp.float32 if dtype is None else dtype),
    "eye.m": lambda n, m, dtype=None: jnp.eye(n, m, dtype=jnp.float32 if dtype is None else dtype),
    "full": _full,
    "zeros": _constant(0),
    "ones": _constant(1),
    "empty.memory_format": _constant(0),
    "full_like": lambda x, value, dtype=None: jnp.full_like(x, value, dtype),
    "zeros_like": _alike(0),
    "ones_like": _alike(1),
    "empty_like": _alike(0),
    "new_zeros": _new(0),
    "new_ones": _new(1),
    "new_empty": _new(0),
    "new_full": _new_full,
    "scalar_tensor": lambda value, dtype=None: jnp.asarray(value, dtype),
    "fill": lambda x, value: jnp.broadcast_to(jnp.asarray(value, x.dtype), x.shape),
    "copy": lambda x, source: jnp.broadcast_to(source.astype(x.dtype), x.shape),
    "tril": lambda x, diagonal=0: jnp.tril(x, diagonal),
    "triu": lambda x, diagonal=0: jnp.triu(x, diagonal),
}
