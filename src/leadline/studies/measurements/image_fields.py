"""What the middle unit of the last convolution sees of an image: by kernels and strides, and by its derivatives."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from leadline.networks.dissection.dissecting import Dissection
from leadline.networks.dissection.feature_maps import FeatureMap, feature_maps

from ..instrument_contract import NotApplicable
from ..subject import Subject

LOOKED_AT = 32  # rows on which the field of a unit is measured
DRAWS = 32  # of the kernels, each on an image of noise
MOST = 0.95  # of the derivative's mass, in the box that is told


class SeenField(NamedTuple):
    """What the middle unit of the last convolution sees along each axis: predicted first and last position (`first`,
    `last`, in the image), measured ones, size with the parts in the padding, and the share of the image in the box.

    `mostly` is the side of the square around the centre with 95% of |∂z/∂x|. `predicted` is the standard deviation of
    the field of independent kernels, None where paths of several kinds meet, and `deviation` the measured one.
    """

    layer: str
    size: tuple[int, ...]
    jump: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    seen_first: tuple[int, ...]
    seen_last: tuple[int, ...]
    share: float
    mostly: int
    deviation: tuple[float, ...]
    predicted: tuple[float, ...] | None
    inside: bool  #: whether the whole box lies inside the image


def position_axes(subject: Subject) -> tuple[int, int]:
    """Which axes of one input are height and width; there must be an image layout."""
    layout = subject.image_layout
    return (1, 2) if layout is not None and layout.channels_first else (0, 1)


def image_maps(subject: Subject) -> tuple[FeatureMap, ...]:
    """The feature maps of a network on images."""
    return feature_maps(subject.shared.dissection, position_axes(subject))


def seen_field(
    subject: Subject, maps: tuple[FeatureMap, ...], parts: list[NotApplicable]
) -> tuple[SeenField | None, np.ndarray | None]:
    """The field and the size of the derivative by each pixel; where there is none, the reason goes to `parts`."""
    from leadline.convolution import measure_field
    from leadline.networks.dissection import input_sensitivity

    what = "field of the last convolution, from kernels and strides"
    taken, last = subject.shared.dissection, last_convolution(maps)
    if last is None:
        parts.append(NotApplicable(what, "a convolution can be followed back to the pixels that it sees"))
        return None, None
    assert last.layer is not None
    seen = input_sensitivity(taken, subject.params, subject.sample.inputs[:LOOKED_AT], last.layer)
    seen = _by_pixel(np.asarray(seen, float), position_axes(subject))
    if not seen.any():
        parts.append(NotApplicable(what, "the unit in the middle has a gradient on some row"))
        return None, None
    place = _middle(taken, last)
    boxes = last.seen.box(place)
    inside = all(a >= 0 and b < side for (a, b), side in zip(boxes, seen.shape, strict=True))
    whole = [(0, side - 1) for side in seen.shape]
    boxes = whole if last.seen.wraps and not inside else boxes
    first = tuple(max(0, box[0]) for box in boxes)
    final = tuple(min(side - 1, box[1]) for side, box in zip(seen.shape, boxes, strict=True))
    measured = [measure_field(seen, axis) for axis in range(seen.ndim)]
    variance = last.seen.variance
    found = SeenField(
        last.name,
        last.seen.size,
        last.seen.jump,
        first,
        final,
        tuple(m.first for m in measured),
        tuple(m.last for m in measured),
        math.prod(b - a + 1 for a, b in zip(first, final, strict=True)) / seen.size,
        _mostly(seen, _centre(last, place)),
        tuple(m.deviation for m in measured),
        None if variance is None else tuple(math.sqrt(v) for v in variance),
        inside,
    )
    return found, seen / seen.max()


def drawn_widths(
    subject: Subject, maps: tuple[FeatureMap, ...], field: SeenField, rng: np.random.Generator
) -> np.ndarray | None:
    """For kernels drawn anew, on noise: one number a draw, whose expectation is 1 where Σ (∂z/∂x)² is the distribution
    of a sum of uniform steps over the taps. None where the box leaves the image or paths of several kinds meet.

    It is 1 + Σ_p g_p² (q_p - 1)/m with q the mean over axes of ((p - centre)/σ)², σ predicted, and m the mean of Σ g².
    """
    last = last_convolution(maps)
    if last is None or field.predicted is None or not field.inside or min(field.predicted) == 0:
        return None
    taken, axes = subject.shared.dissection, position_axes(subject)
    place = _middle(taken, last)
    at = _Unit(taken, last, place)
    kernels = _kernel_leaves(taken)
    squares = []
    for _ in range(DRAWS):
        leaves = [
            jnp.asarray(rng.standard_normal(leaf.shape) / math.sqrt(leaf.size / max(leaf.shape)), leaf.dtype)
            if number in kernels
            else leaf
            for number, leaf in enumerate(jax.tree.leaves(subject.params))
        ]
        noise = rng.standard_normal(subject.input_shape).astype(subject.train.inputs.dtype)
        squares.append(_by_pixel(np.asarray(_gradient(at, leaves, jnp.asarray(noise)), float) ** 2, axes))
    mass = np.stack(squares)
    grids = np.meshgrid(*(np.arange(side) for side in mass.shape[1:]), indexing="ij")
    centre = _centre(last, place)
    q = np.mean(
        [((grid - c) / sigma) ** 2 for grid, c, sigma in zip(grids, centre, field.predicted, strict=True)], axis=0
    )
    total = mass.sum((1, 2)).mean()
    return 1 + (mass * (q - 1)).sum((1, 2)) / total if total > 0 else None


def last_convolution(maps: tuple[FeatureMap, ...]) -> FeatureMap | None:
    """The last convolution with a layer of its own."""
    return next((m for m in reversed(maps) if m.kind == "conv" and m.layer is not None), None)


class _Unit:
    """The middle position of a convolution's result; equal to itself alone, so that jit takes it as it is."""

    def __init__(self, taken: Dissection, last: FeatureMap, place: tuple[int, ...]):
        self.program, self.slot = taken.network.program, last.slot
        where: list[int | slice] = [slice(None)] * len(taken.network.shapes[last.slot])
        for axis, position in zip(last.seen.axes, place, strict=True):
            where[axis] = position
        self.where = tuple(where)


@eqx.filter_jit
def _gradient(unit: _Unit, leaves: list[PyTree], x: Array) -> Array:
    def response(x: Array) -> Array:
        channels = unit.program.run(leaves, x, {}, (unit.slot,))[1][unit.slot][unit.where].ravel()
        return channels[0]

    return jax.grad(response)(x)


def _kernel_leaves(taken: Dissection) -> set[int]:
    """The numbers of the parameter leaves that are kernels of convolutions."""
    names = {name for layer in taken.layers if layer.is_convolution for name in layer.leaves}
    shapes = taken.network.program.in_shapes
    return {n for n, name in enumerate(taken.network.names) if name in names and len(shapes[n]) > 2}


def _middle(taken: Dissection, last: FeatureMap) -> tuple[int, ...]:
    shape = taken.network.shapes[last.slot]
    return tuple(shape[a] // 2 for a in last.seen.axes)


def _centre(last: FeatureMap, place: tuple[int, ...]) -> tuple[float, ...]:
    return tuple((a + b) / 2 for a, b in last.seen.box(place))


def _by_pixel(values: np.ndarray, axes: tuple[int, int]) -> np.ndarray:
    """Sums over colours: (height, width)."""
    return values.sum(tuple(a for a in range(values.ndim) if a not in axes))


def _mostly(seen: np.ndarray, centre: tuple[float, ...]) -> int:
    """The side of the smallest square around the centre that holds most of the mass."""
    away = np.max([np.abs(g - c) for g, c in zip(np.indices(seen.shape), centre, strict=True)], axis=0)
    order = np.argsort(away, axis=None)
    enough = np.searchsorted(np.cumsum(seen.ravel()[order]), MOST * seen.sum())
    return 2 * math.ceil(away.ravel()[order[min(enough, seen.size - 1)]] - 0.5) + 1
