"""What the middle unit of the last convolution sees of an image: by kernels and strides, and by its derivatives."""

import math
from typing import Any, NamedTuple

import numpy as np

from leadline.networks.dissection.dissecting import Dissection

from ..instrument import NotApplicable
from ..subject import Subject

LOOKED_AT = 32  # rows on which the field of a unit is measured
WHAT = "field of the last convolution, from kernels and strides"


class SeenField(NamedTuple):
    """What the middle unit of the last convolution sees along each axis: predicted first and last position (`first`,
    `last`, in the image), measured ones, size with the parts in the padding, and the share of the image in the box."""

    layer: str
    size: tuple[int, ...]
    jump: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    seen_first: tuple[int, ...]
    seen_last: tuple[int, ...]
    share: float


def seen_field(subject: Subject, parts: list[NotApplicable]) -> tuple[SeenField | None, np.ndarray | None]:
    """The field and the size of the derivative by each pixel; where there is none, the reason goes to `parts`."""
    from leadline.convolution import measure_field, receptive_field
    from leadline.networks.dissection import input_sensitivity
    from leadline.networks.dissection.seen_inputs import centre_of

    taken, what = subject.shared.dissection, WHAT
    numbers = [n for n, layer in enumerate(taken.layers) if layer.is_convolution]
    if not numbers:
        parts.append(NotApplicable(what, "the network has a convolution"))
        return None, None
    stacks = _windows(taken, numbers[-1])
    shape = _image_axes(subject.input_shape, taken.layers[numbers[0]])
    if stacks is None or shape is None:
        parts.append(NotApplicable(what, "convolutions and poolings form a chain on an image that is not rearranged"))
        return None, None
    layer, (sides, axes) = taken.layers[numbers[-1]], shape
    seen = input_sensitivity(taken, subject.params, subject.sample.inputs[:LOOKED_AT], numbers[-1])
    seen = np.moveaxis(np.asarray(seen, float).reshape(sides), axes, range(len(axes)))
    seen = seen.reshape(*seen.shape[: len(axes)], -1).sum(-1)
    if not seen.any():
        parts.append(NotApplicable(what, "the unit in the middle has a gradient on some row"))
        return None, None
    fields = [receptive_field(stack) for stack in stacks]
    boxes = [field.box(place) for field, place in zip(fields, centre_of(layer), strict=True)]
    first = tuple(max(0, box[0]) for box in boxes)
    last = tuple(min(side - 1, box[1]) for side, box in zip(seen.shape, boxes, strict=True))
    measured = [measure_field(seen, axis) for axis in range(seen.ndim)]
    share = math.prod(b - a + 1 for a, b in zip(first, last, strict=True)) / seen.size
    found = SeenField(
        layer.name,
        tuple(f.size for f in fields),
        tuple(f.jump for f in fields),
        first,
        last,
        tuple(m.first for m in measured),
        tuple(m.last for m in measured),
        share,
    )
    return found, seen / seen.max()


def _windows(taken: Dissection, until: int) -> list[list[Any]] | None:
    """For each axis the convolutions and poolings up to layer `until`; None where they are not a chain."""
    from leadline.convolution import ConvLayer, PoolLayer

    if taken.chain is None:
        return None
    axes = len(taken.layers[until].kernel)
    stacks: list[list[Any]] = [[] for _ in range(axes)]
    for step in taken.chain:
        if step.kind == "pool":
            if step.window is None or len(step.window) != axes:
                return None
            settings = next((s.settings for s in step.steps if s.primitive.startswith("reduce_window")), None)
            pads = [(0, 0)] * axes
            if settings is not None:
                pads = [p for p, w in zip(settings["padding"], settings["window_dimensions"], strict=True) if w > 1]
            for axis in range(axes):
                stacks[axis].append(PoolLayer(step.window[axis], step.stride[axis], pads[axis][0]))
        elif step.kind == "affine" and step.layer is not None:
            layer = taken.layers[step.layer]
            if not layer.is_convolution or len(layer.kernel) != axes:
                return None
            for axis in range(axes):
                stacks[axis].append(
                    ConvLayer(
                        layer.fan_out,
                        layer.kernel[axis],
                        layer.stride[axis],
                        layer.padding[axis][0],
                        layer.dilation[axis],
                    )
                )
            if step.layer == until:
                return stacks
    return None


def _image_axes(shape: tuple[int, ...], layer: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of an input with its image axes apart, and which those are."""
    sides = layer.sides
    axes = [d for d, side in enumerate(shape) if side in sides]
    for start in range(len(shape) - len(sides) + 1):
        if shape[start : start + len(sides)] == sides and len(axes) >= len(sides):
            return shape, tuple(range(start, start + len(sides)))
    if len(shape) == 1 and math.prod(sides) == shape[0]:
        return sides, tuple(range(len(sides)))
    return None
