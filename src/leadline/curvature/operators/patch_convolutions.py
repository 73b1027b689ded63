"""Convolutions as matrix products of patches, for derivatives of convolutions on CPUs.

XLA's CPU compiler has fast kernels for a convolution in a layer's usual form outside of loops only; derivatives, and
all convolutions inside a loop over batches, fall back to a naive one, many times slower than a matrix product.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend import core
from jaxtyping import Array

from leadline.differentiation.programs.traced_program import NESTED_CALLS, any_equation, equation_runner, nested_program

_LARGEST_WINDOW = 64  # positions of a window up to which copying patches pays


class PatchConvolutions(eqx.Module):
    """The same function with each convolution as a product of its patches with the kernel, where JAX runs on CPUs.

    Convolutions inside loops of the function's own, in groups, with a dilated input or windows above 64 positions stay
    as they are.
    """

    function: Callable

    def __call__(self, *arguments: Any) -> Any:
        if jax.default_backend() != "cpu":
            return self.function(*arguments)
        arrays, rest = eqx.partition(arguments, eqx.is_array)
        leaves, structure = jax.tree.flatten(arrays)

        def flat(*leaves: Array) -> Any:
            return self.function(*eqx.combine(jax.tree.unflatten(structure, leaves), rest))

        closed, shape = jax.make_jaxpr(flat, return_shape=True)(*leaves)
        if not _has_convolution(closed.jaxpr):
            return self.function(*arguments)
        return jax.tree.unflatten(jax.tree.structure(shape), _run(closed.jaxpr, closed.consts, leaves))


def _has_convolution(jaxpr: Any) -> bool:
    calls = NESTED_CALLS | {"custom_jvp_call": "call_jaxpr"}
    return any_equation(jaxpr, lambda eqn: eqn.primitive.name == "conv_general_dilated", calls)


def _run(jaxpr: Any, consts: Any, values: list) -> list:
    found = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, values, strict=True))

    def look(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else found[atom]

    for eqn in jaxpr.eqns:
        inputs = [look(atom) for atom in eqn.invars]
        inner = nested_program(eqn)
        if inner is not None and _has_convolution(getattr(inner, "jaxpr", inner)):
            outputs = _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), inputs)
        elif eqn.primitive.name == "conv_general_dilated" and _is_plain(eqn):
            x, kernel = inputs
            outputs = [_as_product(x, kernel, eqn.params)]
        else:
            outputs = equation_runner(jaxpr, eqn)(*inputs)
        found.update(zip(eqn.outvars, outputs, strict=True))
    return [look(atom) for atom in jaxpr.outvars]


def _is_plain(eqn: Any) -> bool:
    settings, kernel = eqn.params, eqn.invars[1].aval
    window = math.prod(kernel.shape[axis] for axis in settings["dimension_numbers"].rhs_spec[2:])
    ungrouped = settings["feature_group_count"] == settings["batch_group_count"] == 1
    return ungrouped and all(d == 1 for d in settings["lhs_dilation"]) and window <= _LARGEST_WINDOW


def _as_product(x: Array, kernel: Array, settings: dict[str, Any]) -> Array:
    """Σ_offsets patch(offset) · kernel[offset]: patches beside one another, then one matrix product."""
    numbers = settings["dimension_numbers"]
    batch, feature, *space = numbers.lhs_spec
    out, into, *window = numbers.rhs_spec
    x = jnp.transpose(x, (batch, *space, feature))
    kernel = jnp.transpose(kernel, (*window, into, out))
    sides, strides, dilation = kernel.shape[:-2], settings["window_strides"], settings["rhs_dilation"]
    x = jax.lax.pad(
        x, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in settings["padding"]), (0, 0, 0)]
    )
    extents = [
        (x.shape[axis + 1] - (side - 1) * wide - 1) // stride + 1
        for axis, (side, stride, wide) in enumerate(zip(sides, strides, dilation, strict=True))
    ]
    patches = []
    for offset in product(*map(range, sides)):
        first = [o * wide for o, wide in zip(offset, dilation, strict=True)]
        last = [f + (e - 1) * s + 1 for f, e, s in zip(first, extents, strides, strict=True)]
        patches.append(jax.lax.slice(x, (0, *first, 0), (x.shape[0], *last, x.shape[-1]), (1, *strides, 1)))
    columns = jnp.concatenate(patches, axis=-1)
    kind = settings["preferred_element_type"] or x.dtype
    flat = jnp.matmul(
        columns.reshape(-1, columns.shape[-1]),
        kernel.reshape(-1, kernel.shape[-1]),
        precision=settings["precision"],
        preferred_element_type=kind,
    )
    result = flat.reshape(x.shape[0], *extents, kernel.shape[-1])
    order = (0, len(extents) + 1, *range(1, len(extents) + 1))  # batch, feature, space
    places = [0] * result.ndim
    for position, axis in zip(numbers.out_spec, order, strict=True):
        places[position] = axis
    return jnp.transpose(result, places)
