"""The layers of a traced network: where a weight meets a value that depends on the input, with sizes and costs."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from leadline.differentiation.programs.layer_geometry import dot_dimensions
from leadline.differentiation.programs.traced_program import Fixed, Step

from .traced_network import MOVES, TracedNetwork


@dataclass(frozen=True)
class LayerFacts:
    """One dense layer or convolution: a weight that enters through a matrix product or a convolution.

    `fan_in` inputs meet each of `fan_out` units (channels of a convolution); the same weight is used at `positions`
    places (pixels, tokens, steps of a loop: a cell that is scanned is one layer, with a time axis). flops = 2 x
    multiply-adds of one example, windows over padding included. `output_slot` is
    the place in the traced program after scale, bias and whatever affine follows: the pre-activation; `unit_of` says
    for each of its entries, flattened, to which unit or channel it belongs.
    """

    name: str
    kind: str  #: "dense" or "conv"
    weight_shape: tuple[int, ...]
    fan_in: int
    fan_out: int
    positions: int
    groups: int
    output_shape: tuple[int, ...]  #: (units,), (positions, units) or (channels, *space)
    parameters: int  #: of the weight, its bias and affine scales
    leaves: tuple[str, ...]
    flops: int
    output_slot: int
    weight_slot: int
    kernel: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    padding: tuple[tuple[int, int], ...] | None = None
    dilation: tuple[int, ...] | None = None
    flops_inside: int = 0  #: the same without the multiplications by padding
    sides: tuple[int, ...] | None = None  #: of what a convolution slides over
    raw_slot: int = -1  #: the result of the product or convolution itself
    output_slots: tuple[int, ...] = ()  #: `output_slot` of every step of time, where a loop uses the layer again
    unit_of: Int[np.ndarray, " size"] = field(default_factory=lambda: np.zeros(0, int), repr=False)  #: by entry

    @property
    def is_convolution(self) -> bool:
        return self.kind == "conv"


def meets_weight(net: TracedNetwork, step: Step) -> int | None:
    """Which operand of a matrix product or convolution holds parameters while the other depends on the input."""
    if step.primitive not in ("dot_general", "conv_general_dilated") or len(net.varying(step)) != 1:
        return None
    places = [n for n, i in enumerate(step.inputs[:2]) if net.source(i)]
    return places[0] if len(places) == 1 else None


def find_layers(net: TracedNetwork) -> tuple[LayerFacts, ...]:
    """Every layer on which the output depends, in the order of the program."""
    found = []
    for step in net.data_steps:
        side = meets_weight(net, step)
        if side is not None:
            found.append(_facts(net, step, side))
    return tuple(_over_time(found) if net.loops else found)


def _over_time(found: list[LayerFacts]) -> list[LayerFacts]:
    """Layers of the same weights, sizes and parameters, which the iterations of a loop repeat, as one each."""
    alike: dict[tuple, list[LayerFacts]] = {}
    for layer in found:
        what = (layer.leaves, layer.kind, layer.weight_shape, layer.fan_in, layer.fan_out, layer.groups)
        alike.setdefault((*what, layer.output_shape), []).append(layer)
    return [_merged(layers) for layers in alike.values()]


def _merged(layers: list[LayerFacts]) -> LayerFacts:
    first, steps = layers[0], len(layers)
    if steps == 1:
        return first
    return replace(
        first,
        positions=steps * first.positions,
        output_shape=(steps, *first.output_shape),
        flops=sum(layer.flops for layer in layers),
        flops_inside=sum(layer.flops_inside for layer in layers),
        output_slots=tuple(layer.output_slot for layer in layers),
        unit_of=np.concatenate([layer.unit_of for layer in layers]),
    )


def _facts(net: TracedNetwork, step: Step, side: int) -> LayerFacts:
    weight = step.inputs[side]
    assert isinstance(weight, int)  # see meets_weight
    is_convolution = step.primitive == "conv_general_dilated"
    geometry = _conv_sizes(net, step) if is_convolution else _dot_sizes(net, step, side)
    slot, extra, units = _follow(net, step.outputs[0], _unit_numbers(step, side, geometry))
    largest = max(net.source(weight), key=lambda o: o.size)
    origins = sorted(net.source(weight) | extra, key=lambda o: (o.leaf, o.index or 0))
    return LayerFacts(
        name=net.named(largest),
        weight_shape=net.shapes[weight],
        parameters=sum(o.size for o in origins),
        leaves=tuple(net.named(o) for o in origins),
        output_slot=slot,
        weight_slot=weight,
        raw_slot=step.outputs[0],
        unit_of=units.ravel(),
        **geometry,
    )


def _unit_numbers(step: Step, side: int, sizes: dict) -> np.ndarray:
    """The number of the unit or channel of every entry of a product or convolution."""
    shape = step.shapes[0]
    if sizes["kind"] == "conv":
        axis = step.settings["dimension_numbers"].out_spec[1]
        along = np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        return np.broadcast_to(along, shape)
    g, f, u = sizes["groups"], sizes["positions"], sizes["fan_out"]
    numbers = np.arange(g * u).reshape(g, u, 1)
    if side == 0:
        return np.broadcast_to(numbers, (g, u, f)).reshape(shape)
    return np.broadcast_to(numbers.transpose(0, 2, 1), (g, f, u)).reshape(shape)


def _dot_sizes(net: TracedNetwork, step: Step, side: int) -> dict:
    other = step.inputs[1 - side]
    a, w = net.shape(other), net.shape(step.inputs[side])
    contracted, batch = dot_dimensions(step, 1 - side)
    groups = math.prod(a[d] for d in batch)
    inputs = math.prod(a[d] for d in contracted)
    positions, units = math.prod(a) // (groups * inputs), math.prod(w) // (groups * inputs)
    flops = 2 * groups * positions * inputs * units
    shape = (units,) if groups * positions == 1 else (groups * positions, units)
    return dict(
        kind="dense",
        fan_in=inputs,
        fan_out=units,
        positions=positions,
        groups=groups,
        output_shape=shape,
        flops=flops,
        flops_inside=flops,
    )


def _conv_sizes(net: TracedNetwork, step: Step) -> dict:
    settings, w = step.settings, net.shape(step.inputs[1])
    numbers, groups = settings["dimension_numbers"], settings["feature_group_count"]
    out = step.shapes[0]
    channels = w[numbers.rhs_spec[0]]
    fan_in = math.prod(w) // channels
    kernel = tuple(w[d] for d in numbers.rhs_spec[2:])
    space = tuple(out[d] for d in numbers.out_spec[2:])
    batch = out[numbers.out_spec[0]]
    sides = tuple(net.shape(step.inputs[0])[d] for d in numbers.lhs_spec[2:])
    inside = [
        _taps_inside(n, k, s, p, o, d, e)
        for n, k, s, p, o, d, e in zip(
            sides,
            kernel,
            settings["window_strides"],
            settings["padding"],
            space,
            settings["rhs_dilation"],
            settings["lhs_dilation"],
            strict=True,
        )
    ]
    return dict(
        kind="conv",
        fan_in=fan_in,
        fan_out=channels,
        positions=batch * math.prod(space),
        groups=groups,
        output_shape=(channels, *space),
        flops=2 * math.prod(out) * fan_in,
        flops_inside=2 * batch * channels * w[numbers.rhs_spec[1]] * math.prod(inside),
        kernel=kernel,
        stride=tuple(settings["window_strides"]),
        padding=tuple(map(tuple, settings["padding"])),
        dilation=tuple(settings["rhs_dilation"]),
        sides=sides,
    )


def _taps_inside(side: int, kernel: int, stride: int, padding, outputs: int, dilation: int, spread: int) -> int:
    """Pairs (window, tap) along one axis that meet an input and not padding (or holes between inputs)."""
    where = np.arange(outputs)[:, None] * stride + np.arange(kernel) * dilation - padding[0]
    last = (side - 1) * spread
    return int(((where >= 0) & (where <= last) & (where % spread == 0)).sum())


def _follow(net: TracedNetwork, slot: int, units: np.ndarray) -> tuple[int, frozenset, np.ndarray]:
    """The last slot of the affine map that begins here, the parameters that it meets on the way, units by entry."""
    extra: frozenset = frozenset()
    while True:
        readers = net.readers.get(slot, [])
        if slot == net.program.output or len(readers) != 1 or not continues_affinely(net, readers[0]):
            return slot, extra, units
        step = readers[0]
        for i in step.inputs:
            if i != slot and not isinstance(i, Fixed):
                extra |= net.source(i)
        if step.primitive == "transpose":
            units = units.transpose(step.settings["permutation"])
        elif step.primitive == "rev":
            units = np.flip(units, step.settings["dimensions"])
        else:
            units = units.reshape(step.shapes[0])
        slot = step.outputs[0]


def continues_affinely(net: TracedNetwork, step: Step) -> bool:
    """Whether a step moves its one varying input, adds to it or multiplies it by what does not vary."""
    slots = [i for i in step.inputs if isinstance(i, int) and i in net.data]
    if len(slots) != 1 or len(step.outputs) != 1:
        return False
    same_size = math.prod(step.shapes[0]) == math.prod(net.shapes[slots[0]])
    if step.primitive in MOVES:
        return same_size
    if step.primitive in ("mul", "add", "add_any", "sub"):
        return same_size
    return step.primitive == "div" and step.inputs[0] == slots[0] and same_size
