"""The matrix of a dense layer read off its steps: product, scales, bias, without running anything."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from leadline.differentiation.programs.layer_geometry import dot_dimensions
from leadline.differentiation.programs.traced_program import Fixed, Step

from .chain import ChainStep

_IN_ORDER = ("broadcast_in_dim", "convert_element_type", "copy", "copy_p", "expand_dims", "reshape", "squeeze")


_SMALL = 1024  # numbers of a value whose scaling is written as a dense matrix


class ReadAffine(NamedTuple):
    """W (out, in), None for a convolution, and b (out,) of an affine map."""

    weight: Float[np.ndarray, "out in"] | None
    bias: Float[np.ndarray, " out"]


def dense_affine(step: ChainStep) -> ReadAffine | None:
    """(W, b) of moves, one matrix product, then moves, scales and additions; None where the steps are others.

    Of a convolution b alone; scales and additions without a product give a diagonal matrix.
    """
    slot, inputs = step.start, math.prod(step.in_shape)
    dtype = np.dtype(step.dtype)
    products = [s for s in step.steps if s.primitive in ("dot_general", "conv_general_dilated")]
    linear: np.ndarray | None = None  # (inputs, *shape of the value); (0, *shape) for a convolution
    shift = np.zeros(step.in_shape, dtype)
    if not products:
        if inputs > _SMALL:
            return None
        linear = np.eye(inputs, dtype=dtype).reshape(inputs, *step.in_shape)
    for each in step.steps:
        if linear is not None:
            changed = _next(step, each, slot, linear, shift)
            if changed is None:
                return None
            linear, shift = changed
        elif each.primitive == "conv_general_dilated":
            linear, shift = np.zeros((0, *each.shapes[0]), dtype), np.zeros(each.shapes[0], dtype)
        elif each.primitive not in _IN_ORDER or math.prod(each.shapes[0]) != inputs:
            linear = _product(step, each, slot, inputs)
            if linear is None:
                return None
            shift = np.zeros(each.shapes[0], linear.dtype)
        slot = each.outputs[0]
    if linear is None:
        return None
    weight = np.ascontiguousarray(linear.reshape(len(linear), -1).T) if len(linear) else None
    return ReadAffine(weight, shift.ravel())


def _product(step: ChainStep, each: Step, slot: int, inputs: int) -> np.ndarray | None:
    """The matrix product with a weight whose every input is the value in `slot`, once."""
    if each.primitive != "dot_general" or slot not in each.inputs:
        return None
    side = 1 - each.inputs.index(slot)
    weight = _value(step, each.inputs[side])
    contracted, batch = dot_dimensions(each, side)
    own, _ = dot_dimensions(each, 1 - side)
    if weight is None or batch or math.prod(weight.shape[d] for d in contracted) != inputs:
        return None
    if list(own) != sorted(own):
        return None
    free = [d for d in range(weight.ndim) if d not in contracted]
    return weight.transpose(*contracted, *free).reshape(inputs, *each.shapes[0])


def _next(step: ChainStep, each: Step, slot: int, linear: np.ndarray, shift: np.ndarray) -> Any:
    name, shape = each.primitive, each.shapes[0]
    if name in _IN_ORDER and math.prod(shape) == shift.size:
        return linear.reshape(len(linear), *shape), shift.reshape(shape)
    if name == "transpose":
        order = each.settings["permutation"]
        return linear.transpose(0, *(1 + d for d in order)), shift.transpose(order)
    if name == "neg":
        return -linear, -shift
    if name not in ("mul", "div", "add", "add_any", "sub") or each.inputs.count(slot) != 1 or shape != shift.shape:
        return None
    place = each.inputs.index(slot)
    other = _value(step, each.inputs[1 - place])
    if other is None or (name == "div" and place == 1):
        return None
    if name == "mul":
        return linear * other, shift * other
    if name == "div":
        return linear / other, shift / other
    if name == "sub":
        return (linear, shift - other) if place == 0 else (-linear, other - shift)
    return linear, shift + other


def _value(step: ChainStep, i: int | Fixed) -> np.ndarray | None:
    value = i.value if isinstance(i, Fixed) else step.constants.get(i)
    return None if value is None else np.asarray(value)
