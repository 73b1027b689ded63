"""The local rules of differentiation: for each NumPy operation its value, its push-forward and its pull-back.

For y = f(x₁, ..., x_k) the push-forward takes a tangent t of argument i to (∂f/∂x_i) t, and the pull-back takes a
cotangent c of y to (∂f/∂x_i)ᵀ c. Adjoints of broadcast arguments are summed over the broadcast axes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Entries = np.ndarray | np.number  # NumPy turns arrays of no dimension into scalars on the way
Arrays = tuple[Entries, ...]


class LocalRule(NamedTuple):
    """How one operation is evaluated and differentiated; `push` and `pull` take the number of the argument first."""

    value: Callable[..., Any]  # (*xs, **options) → y
    push: Callable[..., Entries]  # (i, tangent of x_i, xs, y, options) → its part of the tangent of y
    pull: Callable[..., Entries]  # (i, cotangent of y, xs, y, options) → cotangent of x_i
    cost: Callable[[Arrays, Entries], int]  # scalar operations of the value, and of one push or pull
    product: bool = False  # whether these are the multiply-adds of a matrix product


def sum_to_shape(array: Entries, shape: tuple[int, ...]) -> Entries:
    """Sum over the axes along which `shape` was broadcast: the transpose of broadcasting.

    >>> sum_to_shape(np.ones((3, 4)), (3, 1)).ravel().tolist()
    [4.0, 4.0, 4.0]
    """
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1)
    return array.sum(axis=stretched, keepdims=True) if stretched else array


def _entrywise(value: Callable[..., Any], *partials: Callable[..., Any]) -> LocalRule:
    """A rule for an operation on entries, from its partial derivatives partial(y, *xs)."""

    def push(i: int, tangent: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
        return np.broadcast_to(partials[i](y, *xs) * tangent, y.shape)

    def pull(i: int, cotangent: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
        return sum_to_shape(np.broadcast_to(cotangent * partials[i](y, *xs), y.shape), np.shape(xs[i]))

    return LocalRule(value, push, pull, lambda xs, y: y.size)


def _expit(x: Entries) -> Entries:
    from scipy.special import expit

    return expit(x)


def _power_of_basis(y: Entries, x: Entries, p: Entries) -> Entries:
    return p * np.power(x, np.where(p == 0, 1, p - 1))  # x⁰ is flat, at x = 0 too


def _power_of_exponent(y: Entries, x: Entries, p: Entries) -> Entries:
    return y * np.log(np.where(x > 0, x, 1.0))


ENTRYWISE: dict[str, LocalRule] = {
    "add": _entrywise(np.add, lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    "subtract": _entrywise(np.subtract, lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    "multiply": _entrywise(np.multiply, lambda y, a, b: b, lambda y, a, b: a),
    "divide": _entrywise(np.divide, lambda y, a, b: 1 / b, lambda y, a, b: -y / b),
    "power": _entrywise(np.power, _power_of_basis, _power_of_exponent),
    "negative": _entrywise(np.negative, lambda y, x: -1.0),
    "square": _entrywise(np.square, lambda y, x: 2 * x),
    "sqrt": _entrywise(np.sqrt, lambda y, x: 0.5 / y),
    "exp": _entrywise(np.exp, lambda y, x: y),
    "log": _entrywise(np.log, lambda y, x: 1 / x),
    "log1p": _entrywise(np.log1p, lambda y, x: 1 / (1 + x)),
    "sin": _entrywise(np.sin, lambda y, x: np.cos(x)),
    "cos": _entrywise(np.cos, lambda y, x: -np.sin(x)),
    "tanh": _entrywise(np.tanh, lambda y, x: 1 - y**2),
    "expit": _entrywise(_expit, lambda y, x: y * (1 - y)),  # the ufunc scipy.special.expit, the logistic function
    "absolute": _entrywise(np.absolute, lambda y, x: np.sign(x)),
    # At a tie the second argument is taken: the slope of maximum(x, 0) at x = 0 is 0.
    "maximum": _entrywise(np.maximum, lambda y, a, b: 1.0 * (a > b), lambda y, a, b: 1.0 * (a <= b)),
    "minimum": _entrywise(np.minimum, lambda y, a, b: 1.0 * (a < b), lambda y, a, b: 1.0 * (a >= b)),
}


def _product_push(i: int, tangent: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    return np.matmul(tangent, xs[1]) if i == 0 else np.matmul(xs[0], tangent)


def _product_pull(i: int, cotangent: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    """c Bᵀ for the left factor and Aᵀ c for the right one, after vectors have become matrices of one row or column."""
    a, b = np.asarray(xs[0]), np.asarray(xs[1])
    left, right = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    c = np.asarray(cotangent)
    if xs[1].ndim == 1:
        c = c[..., None]
    if xs[0].ndim == 1:
        c = c[..., None, :]
    part = c @ np.swapaxes(right, -1, -2) if i == 0 else np.swapaxes(left, -1, -2) @ c
    return sum_to_shape(part, (left, right)[i].shape).reshape(xs[i].shape)


def _spread(y: Entries, x: Entries, axis: Any, keepdims: bool) -> Entries:
    return np.broadcast_to(y if keepdims or axis is None else np.expand_dims(y, axis), x.shape)


def _linear(value: Callable[..., Any], pull: Callable[..., Entries], cost: Callable[..., int]) -> LocalRule:
    """A rule for a linear operation on one argument: its push-forward is itself."""
    return LocalRule(value, lambda i, tangent, xs, y, options: value(tangent, **options), pull, cost)


def _pull_sum(i: int, c: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    return _spread(np.asarray(c), xs[0], options.get("axis"), options.get("keepdims", False))


def _pull_mean(i: int, c: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    return _pull_sum(i, c, xs, y, options) * (y.size / xs[0].size)


def _pull_transpose(i: int, c: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    axes = options.get("axes")
    return np.transpose(c, None if axes is None else np.argsort(axes))


def _pull_item(i: int, c: Entries, xs: Arrays, y: Entries, options: dict) -> Entries:
    full = np.zeros(xs[0].shape, np.result_type(c))
    np.add.at(full, options["index"], c)
    return full


STRUCTURAL: dict[str, LocalRule] = {
    "matmul": LocalRule(np.matmul, _product_push, _product_pull, lambda xs, y: y.size * xs[0].shape[-1], product=True),
    "sum": _linear(np.sum, _pull_sum, lambda xs, y: xs[0].size),
    "mean": _linear(np.mean, _pull_mean, lambda xs, y: xs[0].size),
    "reshape": _linear(np.reshape, lambda i, c, xs, y, options: np.reshape(c, xs[0].shape), lambda xs, y: 0),
    "transpose": _linear(np.transpose, _pull_transpose, lambda xs, y: 0),
    "item": _linear(lambda x, index: x[index], _pull_item, lambda xs, y: 0),
}

#: Every operation that can be differentiated, by the name NumPy gives it.
RULES: dict[str, LocalRule] = ENTRYWISE | STRUCTURAL
