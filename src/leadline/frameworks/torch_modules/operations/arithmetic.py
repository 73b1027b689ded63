"""Arithmetic, comparisons, logic and elementary functions, entry by entry, with PyTorch's promotion of types."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands: one without axes does not raise the precision of one with axes (PyTorch's rule, not JAX's)."""
    if isinstance(a, Array) and isinstance(b, Array) and (a.ndim == 0) != (b.ndim == 0):
        if a.ndim == 0 and _kind(a) <= _kind(b):
            return a.astype(b.dtype), b
        if b.ndim == 0 and _kind(b) <= _kind(a):
            return a, b.astype(a.dtype)
    return a, b


def _kind(a: Array) -> int:
    kinds = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next(n for n, kind in enumerate(kinds) if jnp.issubdtype(a.dtype, kind))


def _binary(function: Callable) -> Callable:
    def operation(a: Any, b: Any) -> Any:
        return function(*together(a, b))

    return operation


def _scaled(function: Callable) -> Callable:
    """a + alpha b, a - alpha b."""

    def operation(a: Any, b: Any, alpha: Any = 1) -> Any:
        a, b = together(a, b)
        return function(a, b if alpha == 1 else alpha * b)

    return operation


def _divide(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    a, b = together(a, b)
    if rounding_mode == "floor":
        return jnp.floor_divide(a, b)
    return jnp.divide(a, b) if rounding_mode is None else jnp.trunc(jnp.divide(a, b)).astype(jnp.result_type(a, b))


def _power(a: Any, b: Any) -> Any:
    a, b = together(a, b)
    if isinstance(b, float) and b.is_integer():
        b = int(b) if jnp.issubdtype(jnp.result_type(a), jnp.floating) else b
    return a**b


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """The slope at the ends themselves is 1, as PyTorch has it."""
    low = x if min is None else jnp.where(x < min, jnp.asarray(min, jnp.result_type(x, min)), x)
    return low if max is None else jnp.where(low > max, jnp.asarray(max, jnp.result_type(low, max)), low)


def _where(condition: Any, a: Any, b: Any) -> Any:
    return jnp.where(condition, *together(a, b))


def _absolute(x: Any) -> Any:
    return jnp.abs(x)


def _round(x: Any, decimals: int = 0) -> Any:
    return jnp.round(x, decimals)


def _to_copy(x: Any, dtype: Any = None) -> Any:
    return x if dtype is None else x.astype(dtype)


def _nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return jnp.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


_UNARY: dict[str, Callable] = {
    "abs": _absolute,
    "acos": jnp.arccos,
    "acosh": jnp.arccosh,
    "asin": jnp.arcsin,
    "asinh": jnp.arcsinh,
    "atan": jnp.arctan,
    "atanh": jnp.arctanh,
    "bitwise_not": jnp.bitwise_not,
    "ceil": jnp.ceil,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "digamma": jax.scipy.special.digamma,
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "erfinv": jax.scipy.special.erfinv,
    "exp": jnp.exp,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "floor": jnp.floor,
    "isfinite": jnp.isfinite,
    "isinf": jnp.isinf,
    "isnan": jnp.isnan,
    "lgamma": jax.scipy.special.gammaln,
    "log": jnp.log,
    "log10": jnp.log10,
    "log1p": jnp.log1p,
    "log2": jnp.log2,
    "logical_not": jnp.logical_not,
    "neg": jnp.negative,
    "reciprocal": jnp.reciprocal,
    "round": _round,
    "rsqrt": jax.lax.rsqrt,
    "sign": jnp.sign,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
    "trunc": jnp.trunc,
}

_BINARY: dict[str, Callable] = {
    "atan2": jnp.arctan2,
    "bitwise_and": jnp.bitwise_and,
    "bitwise_or": jnp.bitwise_or,
    "bitwise_xor": jnp.bitwise_xor,
    "eq": operator.eq,
    "floor_divide": jnp.floor_divide,
    "fmod": jnp.fmod,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "logaddexp": jnp.logaddexp,
    "logical_and": jnp.logical_and,
    "logical_or": jnp.logical_or,
    "logical_xor": jnp.logical_xor,
    "lt": operator.lt,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "mul": operator.mul,
    "ne": operator.ne,
    "remainder": jnp.remainder,
}


OPERATIONS: dict[str, Callable] = {
    **_UNARY,
    **{name: _binary(function) for name, function in _BINARY.items()},
    "max.other": _binary(jnp.maximum),
    "min.other": _binary(jnp.minimum),
    "add": _scaled(operator.add),
    "sub": _scaled(operator.sub),
    "rsub": _scaled(lambda a, b: b - a),
    "div": _divide,
    "true_divide": _divide,
    "pow": _power,
    "clamp": _clamp,
    "clamp_min": lambda x, min: _clamp(x, min),
    "clamp_max": lambda x, max: _clamp(x, None, max),
    "where.self": _where,
    "masked_fill": lambda x, mask, value: jnp.where(mask, jnp.asarray(value, x.dtype), x),
    "nan_to_num": _nan_to_num,
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "_to_copy": _to_copy,
}
