"""The feature maps of any traced network on images: what each position sees of the input, and by which steps.

Followed step by step through the program, skip connections included, from the axes of the input that are positions.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Num, PyTree

from leadline.differentiation.programs.traced_program import Step

from .dissecting import Dissection
from .elementwise import acts_entrywise
from .layer_facts import meets_weight
from .traced_network import MOVES, TracedNetwork

POOLINGS = ("reduce_window_max", "reduce_window_min", "reduce_window_sum")


class MapField(NamedTuple):
    """Position i along an axis sees the input from i·jump - low to i·jump + high; `axes` are those of positions.

    `variance` is that of the sum of independent uniform steps over the taps, (k² - 1)/12 · (distance of taps)² for each
    layer, None where paths of several kinds meet. `wraps`: windows go around the end of the input. `inner` are axes of
    single windows, between the two steps of a pooling that is written as a reshape and a reduction.
    """

    axes: tuple[int, ...]
    jump: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    variance: tuple[float, ...] | None
    wraps: bool = False
    inner: tuple[int, ...] = ()

    @property
    def size(self) -> tuple[int, ...]:
        return tuple(a + b + 1 for a, b in zip(self.low, self.high, strict=True))

    def box(self, index: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """First and last position of the input along each axis that one position of the map sees."""
        return tuple((i * j - a, i * j + b) for i, j, a, b in zip(index, self.jump, self.low, self.high, strict=True))


class FeatureMap(NamedTuple):
    """A convolution ("conv") or pooling ("max", "sum"): where it reads and writes, and what its positions see."""

    name: str
    kind: str
    before: int  #: the slot that it reads
    slot: int  #: the slot that it writes
    seen_before: MapField
    seen: MapField
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    settings: Any
    weight: int | None = None  #: the slot of a convolution's kernel
    layer: int | None = None  #: its number among `Dissection.layers`

    @property
    def strided(self) -> bool:
        return max(self.stride) > 1


def feature_maps(dissection: Dissection, axes: Sequence[int]) -> tuple[FeatureMap, ...]:
    """Every convolution and pooling whose positions can be followed back to the input's `axes` of positions.

    >>> from leadline.networks.dissection import dissect
    >>> net = lambda w, x: jax.lax.conv(x[:, None], w, (2, 2), "SAME").reshape(len(x), -1)
    >>> (found,) = feature_maps(dissect(net, jnp.ones((1, 1, 3, 3)), jnp.ones((1, 8, 8))), (0, 1))
    >>> found.name, found.seen.size, found.seen.jump, found.seen.box((1, 1))[0]
    ('params', (3, 3), (2, 2), (2, 4))
    """
    net = dissection.network
    zeros = (0,) * len(axes)
    seen: dict[int, MapField] = {
        net.program.leaves: MapField(tuple(axes), (1,) * len(axes), zeros, zeros, (0.0,) * len(axes))
    }
    split: dict[int, int] = {}
    numbers = {layer.raw_slot: n for n, layer in enumerate(dissection.layers)}
    found: list[FeatureMap] = []
    for step in net.data_steps:
        inputs = net.varying(step)
        if any(slot not in seen for slot in inputs) or len(step.outputs) != 1:
            continue
        after = _followed(net, step, [seen[slot] for slot in inputs], inputs)
        if after is None:
            continue
        first, slot = inputs[0], step.outputs[0]
        seen[slot] = after
        if after.inner:
            split[slot] = split.get(first, first)
        pooled = step.primitive in POOLINGS or (step.primitive in ("reduce_max", "reduce_sum") and first in split)
        if step.primitive == "conv_general_dilated" or pooled:
            found.append(_feature_map(dissection, step, seen, split.get(first, first), numbers, found))
    return tuple(found)


def slot_reader(
    dissection: Dissection, slots: Sequence[int]
) -> Callable[[PyTree, Num[Array | np.ndarray, "n ..."]], dict[int, Array]]:
    """read(params, inputs): the values in some slots of the program for a batch, by slot; compiled once."""
    place = _Slots(dissection, tuple(slots))

    def read(params: PyTree, inputs: Num[Array | np.ndarray, "n ..."]) -> dict[int, Array]:
        return dict(zip(place.slots, _slot_values(place, params, jnp.asarray(inputs)), strict=True))

    return read


class _Slots:
    """Equal to itself alone, so that jit takes it as it is."""

    def __init__(self, dissection: Dissection, slots: tuple[int, ...]):
        self.program, self.slots = dissection.network.program, slots


@eqx.filter_jit
def _slot_values(place: _Slots, params: PyTree, inputs: Array) -> tuple[Array, ...]:
    leaves = jax.tree.leaves(params)

    def one(x: Array) -> tuple[Array, ...]:
        values = place.program.run(leaves, x, {}, place.slots)[1]
        return tuple(values[slot] for slot in place.slots)

    return jax.vmap(one)(inputs)


def _feature_map(
    dissection: Dissection,
    step: Step,
    seen: dict[int, MapField],
    before: int,
    numbers: dict[int, int],
    earlier: list[FeatureMap],
) -> FeatureMap:
    slot, net = step.outputs[0], dissection.network
    at, after = seen[before], seen[slot]
    number = numbers.get(slot)
    if step.primitive == "conv_general_dilated":
        side = meets_weight(net, step)
        weight = step.inputs[1] if side == 1 and isinstance(step.inputs[1], int) else None
        window, stride, pads = _conv_windows(net, step, at)
        name = dissection.layers[number].name if number is not None else "convolution"
        again = sum(m.kind == "conv" and m.name.split(", use")[0] == name for m in earlier)
        name = f"{name}, use {again + 1}" if again else name
        return FeatureMap(name, "conv", before, slot, at, after, window, stride, pads, step.settings, weight, number)
    kind = "max" if "max" in step.primitive else "min" if "min" in step.primitive else "sum"
    last = next((m.name for m in reversed(earlier) if m.kind == "conv"), "the input")
    count = sum(m.kind != "conv" and m.name.endswith(f"pooling behind {last}") for m in earlier)
    name = f"{'another ' * count}pooling behind {last}"
    if step.primitive in POOLINGS:
        window, stride, pads = ([step.settings[key][a] for a in at.axes] for key in _POOL_SETTINGS)
    else:
        window = stride = [b // a for a, b in zip(at.jump, after.jump, strict=True)]
        pads = [(0, 0)] * len(window)
    return FeatureMap(
        name,
        kind,
        before,
        slot,
        at,
        after,
        tuple(window),
        tuple(stride),
        tuple((low, high) for low, high in pads),
        step.settings,
    )


_POOL_SETTINGS = ("window_dimensions", "window_strides", "padding")


def _conv_windows(net: TracedNetwork, step: Step, seen: MapField) -> tuple[tuple, tuple, tuple]:
    numbers, shape = step.settings["dimension_numbers"], net.shape(step.inputs[1])
    order = [numbers.lhs_spec[2:].index(a) for a in seen.axes]
    kernel = [shape[d] for d in numbers.rhs_spec[2:]]
    return (
        tuple(kernel[o] for o in order),
        tuple(step.settings["window_strides"][o] for o in order),
        tuple(tuple(step.settings["padding"][o]) for o in order),
    )


def _followed(net: TracedNetwork, step: Step, fields: list[MapField], slots: list[int]) -> MapField | None:
    """What the positions of a step's result see, or None where it has none that can be followed."""
    name, settings, shape = step.primitive, step.settings, step.shapes[0]
    seen, given = fields[0], net.shapes[slots[0]]
    if name == "conv_general_dilated":
        return _behind_convolution(net, step, seen) if slots == [step.inputs[0]] and not seen.inner else None
    if name in POOLINGS:
        others = [w for a, w in enumerate(settings["window_dimensions"]) if a not in seen.axes]
        if seen.inner or any(w > 1 for w in others) or any(d > 1 for d in settings["base_dilation"]):
            return None
        windows = [
            (settings["window_dimensions"][a], settings["window_strides"][a], settings["padding"][a][0])
            for a in seen.axes
        ]
        dilation = [settings["window_dilation"][a] for a in seen.axes]
        return _behind_windows(seen, windows, dilation)
    if name in ("reduce_max", "reduce_min", "reduce_sum"):
        return _behind_reduction(seen, given, tuple(map(int, settings["axes"])))
    if name == "transpose":
        order = list(settings["permutation"])
        return seen._replace(
            axes=tuple(order.index(a) for a in seen.axes), inner=tuple(order.index(a) for a in seen.inner)
        )
    if name == "slice":
        starts, strides = settings["start_indices"], settings["strides"] or (1,) * len(given)
        moved = tuple(starts[a] * j for a, j in zip(seen.axes, seen.jump, strict=True))
        jump = tuple(strides[a] * j for a, j in zip(seen.axes, seen.jump, strict=True))
        return _moved(seen, tuple(-m for m in moved))._replace(jump=jump)
    if name == "pad":
        edges = settings["padding_config"]
        if any(edges[a][2] for a in seen.axes):
            return None
        return _moved(seen, tuple(edges[a][0] * j for a, j in zip(seen.axes, seen.jump, strict=True)))
    if name == "concatenate":
        return _behind_concatenation(net, step, fields, slots)
    if name == "stack":
        seen = _joined(fields)
        return None if seen is None or seen.inner else _with_axis(seen, settings["axis"])
    if name in MOVES and name != "rev":
        return seen if shape == given else _renumbered(seen, given, shape)
    if acts_entrywise(name, settings) and all(net.shapes[s] == shape for s in slots):
        return _joined(fields)
    return None


def _behind_convolution(net: TracedNetwork, step: Step, seen: MapField) -> MapField | None:
    settings, numbers = step.settings, step.settings["dimension_numbers"]
    if set(numbers.lhs_spec[2:]) != set(seen.axes):
        return None
    kernel, stride, pads = _conv_windows(net, step, seen)
    order = [numbers.lhs_spec[2:].index(a) for a in seen.axes]
    spread = [settings["lhs_dilation"][o] for o in order]
    if any(j % e for j, e in zip(seen.jump, spread, strict=True)):
        return None
    if max(spread) > 1:  # a transposed convolution: positions between the inputs
        finer = tuple(j // e for j, e in zip(seen.jump, spread, strict=True))
        seen = seen._replace(jump=finer, variance=None)
    windows = [(k, s, p[0]) for k, s, p in zip(kernel, stride, pads, strict=True)]
    after = _behind_windows(seen, windows, [settings["rhs_dilation"][o] for o in order])
    return after._replace(axes=tuple(numbers.out_spec[2:][o] for o in order))


def _behind_windows(seen: MapField, windows: list[tuple[int, int, int]], dilation: list[int]) -> MapField:
    """Behind windows of (taps, stride, padding in front) along each axis."""
    low, high, jump, variance = [], [], [], []
    for axis, ((taps, stride, pad), apart) in enumerate(zip(windows, dilation, strict=True)):
        step = seen.jump[axis]
        low.append(seen.low[axis] + pad * step)
        high.append(seen.high[axis] + ((taps - 1) * apart - pad) * step)
        jump.append(step * stride)
        if seen.variance is not None:
            variance.append(seen.variance[axis] + (taps**2 - 1) / 12 * (apart * step) ** 2)
    spread = None if seen.variance is None else tuple(variance)
    return seen._replace(low=tuple(low), high=tuple(high), jump=tuple(jump), variance=spread)


def _behind_reduction(seen: MapField, shape: tuple[int, ...], gone: tuple[int, ...]) -> MapField | None:
    if set(gone) & set(seen.axes) or (seen.inner and set(gone) != set(seen.inner)):
        return None
    if seen.inner:
        sizes = [shape[a] for a in seen.inner]
        seen = _behind_windows(seen, [(s, s, 0) for s in sizes], [1] * len(sizes))._replace(inner=())
    return seen._replace(axes=tuple(a - sum(g < a for g in gone) for a in seen.axes))


def _behind_concatenation(net: TracedNetwork, step: Step, fields: list[MapField], slots: list[int]) -> MapField | None:
    along = step.settings["dimension"]
    operands = [i for i in step.inputs if isinstance(i, int) and i in net.data]
    by_slot = dict(zip(slots, fields, strict=True))
    axes = {by_slot[slot].axes for slot in operands}
    if len(axes) != 1 or any(f.inner for f in fields):
        return None
    (own,) = axes
    if along not in own:
        return _joined([by_slot[slot] for slot in operands])
    sizes = [net.shape(i)[along] for i in step.inputs]
    widest = max(range(len(sizes)), key=sizes.__getitem__)
    main = step.inputs[widest]
    if not isinstance(main, int) or main not in by_slot or len(operands) == 1:
        return None
    seen, axis = by_slot[main], own.index(along)
    moved = [0] * len(own)
    moved[axis] = sum(sizes[:widest]) * seen.jump[axis]
    return _moved(seen, tuple(moved))._replace(wraps=True)


def _joined(fields: list[MapField]) -> MapField | None:
    first = fields[0]
    if any((f.axes, f.jump, f.inner) != (first.axes, first.jump, first.inner) for f in fields):
        return None
    alike = all(f[:5] == first[:5] for f in fields)
    return first._replace(
        low=tuple(map(max, zip(*(f.low for f in fields), strict=True))),
        high=tuple(map(max, zip(*(f.high for f in fields), strict=True))),
        variance=first.variance if alike else None,
        wraps=any(f.wraps for f in fields),
    )


def _moved(seen: MapField, by: tuple[int, ...]) -> MapField:
    """Positions counted from `by` (in the input) before where they were counted from."""
    return seen._replace(
        low=tuple(a + m for a, m in zip(seen.low, by, strict=True)),
        high=tuple(b - m for b, m in zip(seen.high, by, strict=True)),
    )


def _with_axis(seen: MapField, new: int) -> MapField:
    """The same with an axis more in place `new`."""
    return seen._replace(axes=tuple(a + (a >= new) for a in seen.axes))


def _renumbered(seen: MapField, before: tuple[int, ...], after: tuple[int, ...]) -> MapField | None:
    """The axes of positions after axes of one entry came or went, or after each was split into windows."""
    if math.prod(before) != math.prod(after):
        return None
    old, new = ([(d, n) for d, n in enumerate(shape) if n > 1] for shape in (before, after))
    places: dict[int, int] = {}
    inner: list[int] = []
    rest = list(new)
    for axis, side in old:
        if not rest:
            return None
        place, found = rest.pop(0)
        if found == side:
            places[axis] = place
        elif axis in seen.axes and rest and found * rest[0][1] == side:
            places[axis] = place
            inner.append(rest.pop(0)[0])
        else:
            return None
    if rest or any(a not in places for a in (*seen.axes, *seen.inner)) or (inner and len(inner) != len(seen.axes)):
        return None
    kept = tuple(places[a] for a in seen.inner)
    return seen._replace(axes=tuple(places[a] for a in seen.axes), inner=kept or tuple(inner))
