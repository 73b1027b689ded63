"""Convolutions in the one form that XLA computes fast on CPUs, with derivatives in that form again.

XLA's CPU compiler has a fast kernel for inputs (batch, space, channel) and kernels (space, into, out) in single
precision. It brings others into this form outside of loops only (its pass looks at the entry computation), and the
derivatives of a convolution have others: a gradient inside a loop is ten times slower than outside. Here axes are moved
before and after, so that loops hold fast convolutions only, and a program is half as long as one of patches. As a
convolution, the gradient of a kernel has a window as large as the image, for which XLA is slow: where a batch has many
positions, it is a product of patches.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from .patch_convolutions import (
    LARGEST_WINDOW,
    as_product,
    few_patches,
    from_channels_last,
    patch_gradient,
    ungrouped,
    with_convolutions,
)
from .traced_program import Program, Step

# Positions of a batch from which a kernel's gradient is a product of patches; below, compiling it costs more.
MANY_POSITIONS = 2**14
_SETTINGS = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "precision", "preferred_element_type")


class CanonicalConvolutions(eqx.Module):
    """The same function with each convolution in the form that XLA computes fast, where JAX runs on CPUs.

    Convolutions in double precision, for which there is no fast kernel, become products of patches; those in loops of
    the function's own and in groups stay as they are.
    """

    function: Callable

    def __call__(self, *arguments: Any) -> Any:
        return with_convolutions(self.function, fast_form, arguments)


def fast_form(settings: Mapping[str, Any], x: Array, kernel: Array) -> Callable | None:
    """The convolution as a function of (x, kernel, settings): canonical, by patches, or None where neither fits."""
    if _canonical_form(settings, x, kernel):
        return _canonical
    return as_product if few_patches(settings, kernel.shape) else None


def with_fast_steps(program: Program) -> Program:
    """The same program with its convolutions in the fast form; they keep their name and their settings."""
    steps = (
        dataclasses.replace(step, run=_fast_step(step)) if step.primitive == "conv_general_dilated" else step
        for step in program.steps
    )
    return dataclasses.replace(program, steps=tuple(steps))


def _fast_step(step: Step) -> Callable[..., list[Array]]:
    def run(x: Array, kernel: Array) -> list[Array]:
        convolve = fast_form(step.settings, x, kernel) if jax.default_backend() == "cpu" else None
        return step.run(x, kernel) if convolve is None else [convolve(x, kernel, step.settings)]

    return run


def _canonical_form(settings: Mapping[str, Any], x: Array, kernel: Array) -> Callable | None:
    kinds = (x.dtype, kernel.dtype, settings["preferred_element_type"] or x.dtype)
    return _canonical if ungrouped(settings) and all(kind == jnp.float32 for kind in kinds) else None


def _canonical(x: Array, kernel: Array, settings: Mapping[str, Any]) -> Array:
    numbers = settings["dimension_numbers"]
    batch, feature, *space = numbers.lhs_spec
    out, into, *window = numbers.rhs_spec
    x, kernel = jnp.transpose(x, (batch, *space, feature)), jnp.transpose(kernel, (*window, into, out))
    found = _convolution.bind(x, kernel, **{name: settings[name] for name in _SETTINGS})
    return jnp.transpose(found, from_channels_last(numbers))


def _convolve(x: Array, kernel: Array, **settings: Any) -> Array:
    last, space = x.ndim - 1, tuple(range(1, x.ndim - 1))
    numbers = jax.lax.ConvDimensionNumbers((0, last, *space), (last, last - 1, *range(last - 1)), (0, last, *space))
    return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **settings)


def _in_form(function: Callable) -> Callable:
    """JAX's own rule for a convolution, with the convolutions that it makes in the form again."""
    return lambda *arguments: with_convolutions(function, _canonical_form, arguments)


def _pull_input(cotangent: Array, x: Any, kernel: Array, **settings: Any) -> Array:
    def pull(cotangent: Array, kernel: Array) -> Array:
        return jax.linear_transpose(lambda x: _convolve(x, kernel, **settings), x.aval)(cotangent)[0]

    return _in_form(pull)(cotangent, kernel)


def _pull_kernel(cotangent: Array, x: Array, kernel: Any, **settings: Any) -> Array:
    *sides, _, out = kernel.aval.shape
    slides = [settings[name] for name in ("window_strides", "padding", "rhs_dilation")]
    gapless = all(d == 1 for d in settings["lhs_dilation"])
    if gapless and math.prod(sides) <= LARGEST_WINDOW and cotangent.size >= MANY_POSITIONS * out:
        return patch_gradient(cotangent, x, sides, *slides)

    def pull(cotangent: Array, x: Array) -> Array:
        return jax.linear_transpose(lambda kernel: _convolve(x, kernel, **settings), kernel.aval)(cotangent)[0]

    return _in_form(pull)(cotangent, x)


def _batched(arguments: Any, axes: Any, **settings: Any) -> tuple[Array, int]:
    return _in_form(jax.vmap(partial(_convolve, **settings), axes))(*arguments), 0


def _abstract(x: Any, kernel: Any, **settings: Any) -> Any:
    shape = jax.eval_shape(partial(_convolve, **settings), x, kernel)
    return ShapedArray(shape.shape, shape.dtype)


_convolution = core.Primitive("canonical_convolution")
_convolution.def_impl(_convolve)
_convolution.def_abstract_eval(_abstract)
mlir.register_lowering(_convolution, mlir.lower_fun(_convolve, multiple_results=False))
ad.defbilinear(_convolution, _pull_input, _pull_kernel)
batching.primitive_batchers[_convolution] = _batched
