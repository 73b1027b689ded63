"""Convolutions as matrix products of patches, for derivatives of convolutions in double precision on CPUs.

XLA's CPU compiler has a naive kernel for these, many times slower than a matrix product. A function or a traced program
is run with its convolutions in another form by `with_convolutions`.
"""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend import core
from jaxtyping import Array

from .traced_program import NESTED_CALLS, any_equation, equation_runner, nested_program

LARGEST_WINDOW = 64  # positions of a window up to which copying patches pays


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
    """Σ_offsets patch(offset) · kernel[offset]: patches beside one another, then one matrix product."""
    numbers = settings["dimension_numbers"]
    batch, feature, *space = numbers.lhs_spec
    out, into, *window = numbers.rhs_spec
    x = jnp.transpose(x, (batch, *space, feature))
    kernel = jnp.transpose(kernel, (*window, into, out))
    sides, strides, dilation = kernel.shape[:-2], settings["window_strides"], settings["rhs_dilation"]
    parts = window_parts(x, sides, strides, settings["padding"], dilation)
    columns = jnp.concatenate(parts, axis=-1)
    kind = settings["preferred_element_type"] or x.dtype
    flat = jnp.matmul(
        columns.reshape(-1, columns.shape[-1]),
        kernel.reshape(-1, kernel.shape[-1]),
        precision=settings["precision"],
        preferred_element_type=kind,
    )
    result = flat.reshape(*columns.shape[:-1], kernel.shape[-1])
    return jnp.transpose(result, from_channels_last(numbers))


def window_parts(x: Array, sides: Any, strides: Any, padding: Any, dilation: Any) -> list[Array]:
    """What each place of the window sees: for (batch, *space, channel) a list of (batch, *positions, channel)."""
    x = jax.lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in padding), (0, 0, 0)])
    extents = [
        (x.shape[axis + 1] - (side - 1) * wide - 1) // stride + 1
        for axis, (side, stride, wide) in enumerate(zip(sides, strides, dilation, strict=True))
    ]
    parts = []
    for offset in product(*map(range, sides)):
        first = [o * wide for o, wide in zip(offset, dilation, strict=True)]
        last = [f + (e - 1) * s + 1 for f, e, s in zip(first, extents, strides, strict=True)]
        parts.append(jax.lax.slice(x, (0, *first, 0), (x.shape[0], *last, x.shape[-1]), (1, *strides, 1)))
    return parts


def from_channels_last(numbers: Any) -> list[int]:
    """The axes by which (batch, space, channel) becomes the output that dimension numbers ask for."""
    rank = len(numbers.out_spec)
    places = [0] * rank
    for position, axis in zip(numbers.out_spec, (0, rank - 1, *range(1, rank - 1)), strict=True):
        places[position] = axis
    return places
