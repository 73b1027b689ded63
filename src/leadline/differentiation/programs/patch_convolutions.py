"""Convolutions as matrix products of patches, for derivatives in double precision and of large kernels on CPUs.

XLA's CPU compiler has a naive kernel for the first, many times slower than a matrix product. A function or a traced
program is run with its convolutions in another form by `with_convolutions`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend import core
from jaxtyping import Array, Num

from .traced_program import NESTED_CALLS, any_equation, equation_runner, nested_program

LARGEST_WINDOW = 64  # positions of a window up to which copying patches pays
PATCH_ROWS = 1024  # positions whose patches are in memory at once


def with_convolutions(function: Callable, form: Callable[..., Callable | None], arguments: tuple) -> Any:
    """The function's value, where JAX runs on CPUs with convolutions as `form` has them.

    `form(settings, x, kernel)` gives (x, kernel, settings) -> array, or None for a convolution that stays as it is.
    """
    if jax.default_backend() != "cpu":
        return function(*arguments)
    arrays, rest = eqx.partition(arguments, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)

    def flat(*leaves: Array) -> Any:
        return function(*eqx.combine(jax.tree.unflatten(structure, leaves), rest))

    closed, shape = jax.make_jaxpr(flat, return_shape=True)(*leaves)
    if not _has_convolution(closed.jaxpr):
        return function(*arguments)
    return jax.tree.unflatten(jax.tree.structure(shape), _run(closed.jaxpr, closed.consts, leaves, form))


def _has_convolution(jaxpr: Any) -> bool:
    calls = NESTED_CALLS | {"custom_jvp_call": "call_jaxpr"}
    return any_equation(jaxpr, lambda eqn: eqn.primitive.name == "conv_general_dilated", calls)


def _run(jaxpr: Any, consts: Any, values: list, form: Callable) -> list:
    found = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, values, strict=True))

    def look(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else found[atom]

    for eqn in jaxpr.eqns:
        inputs = [look(atom) for atom in eqn.invars]
        inner = nested_program(eqn)
        convolve = form(eqn.params, *inputs) if eqn.primitive.name == "conv_general_dilated" else None
        if inner is not None and _has_convolution(getattr(inner, "jaxpr", inner)):
            outputs = _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), inputs, form)
        elif convolve is not None:
            outputs = [convolve(*inputs, eqn.params)]
        else:
            outputs = equation_runner(jaxpr, eqn)(*inputs)
        found.update(zip(eqn.outvars, outputs, strict=True))
    return [look(atom) for atom in jaxpr.outvars]


def few_patches(settings: Mapping[str, Any], kernel_shape: tuple[int, ...]) -> bool:
    """Whether a convolution is without groups, without gaps in its input, and its window of few positions."""
    window = math.prod(kernel_shape[axis] for axis in settings["dimension_numbers"].rhs_spec[2:])
    return ungrouped(settings) and all(d == 1 for d in settings["lhs_dilation"]) and window <= LARGEST_WINDOW


def ungrouped(settings: Mapping[str, Any]) -> bool:
    """Whether every input channel meets every output channel."""
    return settings["feature_group_count"] == settings["batch_group_count"] == 1


def as_product(x: Array, kernel: Array, settings: Mapping[str, Any]) -> Array:
    """A traced convolution as `patch_product`, whatever the order of its axes."""
    numbers = settings["dimension_numbers"]
    batch, feature, *space = numbers.lhs_spec
    out, into, *window = numbers.rhs_spec
    x = jnp.transpose(x, (batch, *space, feature))
    kernel = jnp.transpose(kernel, (*window, into, out))
    slides = (settings[name] for name in ("window_strides", "padding", "rhs_dilation"))
    kind = settings["preferred_element_type"] or x.dtype
    result = patch_product(x, kernel, *slides, precision=settings["precision"], preferred_element_type=kind)
    return jnp.transpose(result, from_channels_last(numbers))


def patch_product(
    x: Num[Array, "batch ..."], kernel: Num[Array, "..."], strides: Any, padding: Any, dilation: Any, **options: Any
) -> Num[Array, "batch ..."]:
    """y[i] = Σ_t x[s i + d t - pad] · w[t]: patches beside one another (im2col), times the kernel as a matrix.

    For x (batch, *space, channels) and a kernel (*taps, channels, out); `options` are those of `jnp.matmul`.

    >>> x, kernel = jnp.arange(4.0)[None, :, None], jnp.array([1.0, 10.0])[:, None, None]
    >>> patch_product(x, kernel, [1], [(0, 0)], [1]).ravel().tolist()
    [10.0, 21.0, 32.0]
    """
    columns = jnp.concatenate(window_parts(x, kernel.shape[:-2], strides, padding, dilation), axis=-1)
    return position_product(columns, kernel.reshape(-1, kernel.shape[-1]), **options)


def patch_gradient(
    cotangent: Num[Array, "batch ..."],
    x: Num[Array, "batch ..."],
    sides: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
) -> Num[Array, "..."]:
    """dL/dw[t] = Σ_i x[s i + d t - pad] · ȳ[i]ᵀ, the gradient of a kernel of those `sides`, by products of patches.

    The patches of a few images at a time, about `PATCH_ROWS` positions, which stay in the processor's cache.

    >>> x, cotangent = jnp.arange(4.0)[None, :, None], jnp.array([1.0, 10.0, 100.0])[None, :, None]
    >>> patch_gradient(cotangent, x, [2], [1], [(0, 0)], [1]).ravel().tolist()
    [210.0, 321.0]
    """
    batch, into, out = len(x), x.shape[-1], cotangent.shape[-1]
    most = max(PATCH_ROWS * batch * out // cotangent.size, 1)
    few = next(n for n in range(min(most, batch), 0, -1) if batch % n == 0)

    def add(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        columns = jnp.concatenate(window_parts(part[0], sides, strides, padding, dilation), axis=-1)
        return total + columns.reshape(-1, columns.shape[-1]).T @ part[1].reshape(-1, out), None

    parts = x.reshape(-1, few, *x.shape[1:]), cotangent.reshape(-1, few, *cotangent.shape[1:])
    zero = jnp.zeros((math.prod(sides) * into, out), cotangent.dtype)
    return jax.lax.scan(add, zero, parts)[0].reshape(*sides, into, out)


def position_product(x: Num[Array, "*_ into"], matrix: Num[Array, "into out"], **options: Any) -> Array:
    """x · matrix with the positions as one axis: the compiler copies both factors of a derivative over several axes."""
    return jnp.matmul(x.reshape(-1, x.shape[-1]), matrix, **options).reshape(*x.shape[:-1], matrix.shape[-1])


def window_parts(x: Array, sides: Any, strides: Any, padding: Any, dilation: Any) -> list[Array]:
    """What each place of the window sees: for (batch, *space, channel) a list of (batch, *positions, channel)."""
    x = jax.lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0)])
    places = window_places(x.shape[1:-1], sides, strides, dilation)
    return [x[(slice(None), *place)] for place in places]


def window_places(
    shape: Sequence[int], sides: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[slice, ...]]:
    """Where the places of a window lie in all windows: place t of window i is at s i + d t.

    One slice an axis for each place, the last axis fastest, of an array of that shape.

    >>> window_places((5,), (2,), (2,), (1,))
    [(slice(0, 3, 2),), (slice(1, 4, 2),)]
    """
    axes = []
    for length, side, stride, wide in zip(shape, sides, strides, dilation, strict=True):
        reach = (length - (side - 1) * wide - 1) // stride * stride + 1  # from the first window to the last
        axes.append([slice(t * wide, t * wide + reach, stride) for t in range(side)])
    return list(product(*axes))


def from_channels_last(numbers: Any) -> list[int]:
    """The axes by which (batch, space, channel) becomes the output that dimension numbers ask for."""
    rank = len(numbers.out_spec)
    places = [0] * rank
    for position, axis in zip(numbers.out_spec, (0, rank - 1, *range(1, rank - 1)), strict=True):
        places[position] = axis
    return places
