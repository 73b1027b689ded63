"""How much of the input one output of a stack can see, and how much of it the gradient says it does see."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .block_kinds import DropoutLayer, Layer, Parallel, Residual, UpLayer, Window
from .layer_kinds import border


class ReceptiveField(NamedTuple):
    """Output i sees the input positions from i·jump - offset to i·jump - offset + size - 1, those in the padding too.

    Fractions where outputs lie closer together than inputs, behind an upsampling.
    """

    size: int | Fraction
    jump: int | Fraction
    offset: int | Fraction

    @property
    def most(self) -> int:
        """The most input positions along an axis that an output sees."""
        return floor(self.size - 1) + 1

    def box(self, index: int) -> tuple[int, int]:
        """First and last position that output `index` sees."""
        first = index * self.jump - self.offset
        return ceil(first), floor(first + self.size - 1)

    def centre(self, index: int) -> float:
        """The middle of the box."""
        return float(index * self.jump - self.offset) + float(self.size - 1) / 2


def receptive_field(layers: Sequence[Layer]) -> ReceptiveField:
    """r = 1 + Σ_l (k_l - 1) dil_l Π_{m<l} s_m along each axis; jump = Π s_l; offset = Σ_l pad_l Π_{m<l} s_m.

    Of branches it is the box around all of theirs. Normalisations over positions are left out of account.

    >>> from leadline.convolution import ConvLayer, PoolLayer
    >>> receptive_field([ConvLayer(8, 3, padding=1), PoolLayer(2), ConvLayer(8, 3, padding=1)])
    ReceptiveField(size=8, jump=2, offset=3)
    >>> receptive_field([ConvLayer(1, 2, dilation=2**level) for level in range(5)]).size
    32
    >>> receptive_field([UpLayer(1), ConvLayer(1, 3, padding=1)]).box(4)  # through 3, 4 and 5 of blocks of two
    (1, 2)
    """
    field = ReceptiveField(1, 1, 0)
    for layer in layers:
        field = _behind(field, layer)
    return ReceptiveField(*(int(n) if n == int(n) else n for n in field))


def _behind(field: ReceptiveField, layer: Layer) -> ReceptiveField:
    size, jump, offset = field
    if isinstance(layer, Window):
        grown = size + (layer.kernel - 1) * layer.dilation * jump
        return ReceptiveField(grown, jump * layer.stride, offset + border(layer) * jump)
    if isinstance(layer, UpLayer):
        fine = Fraction(jump) / layer.factor  # the last of a block lies (factor - 1) fine steps behind its first
        return ReceptiveField(size + (layer.factor - 1) * fine, fine, offset + (layer.factor - 1) * fine)
    if isinstance(layer, Residual | Parallel):
        branches = (layer.layers, ()) if isinstance(layer, Residual) else layer.branches
        ends = []
        for branch in branches:
            behind = field
            for each in branch:
                behind = _behind(behind, each)
            ends.append(behind)
        jump, offset = max(end.jump for end in ends), max(end.offset for end in ends)
        return ReceptiveField(max(end.size - end.offset for end in ends) + offset, jump, offset)
    if isinstance(layer, DropoutLayer):
        return field
    raise ValueError(f"{type(layer).__name__} sees the whole input; give convolutions and poolings only.")


def uniform_field_deviation(layers: Sequence[Window]) -> float:
    """Standard deviation, along an axis, of the gradient's mass where every kernel is constant and positive.

    The mass is then the distribution of a sum of independent uniform steps: σ² = Σ_l (k_l² - 1)/12 (dil_l Π_{m<l}
    s_m)². It grows like √depth while the field grows like depth (Luo et al. 2016).

    >>> from leadline.convolution import ConvLayer
    >>> uniform_field_deviation([ConvLayer(1, 7)])
    2.0
    """
    variance, jump = 0.0, 1
    for layer in layers:
        variance += (layer.kernel**2 - 1) / 12 * (layer.dilation * jump) ** 2
        jump *= layer.stride
    return float(np.sqrt(variance))


@eqx.filter_jit
def _absolute_gradient(f: Callable, x: Array, unit: tuple[int, ...]) -> Array:
    return jnp.abs(jax.grad(lambda image: f(image)[unit])(x))


def gradient_field(f: Callable, x: Float[Array | np.ndarray, "..."], unit: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """|∂f_unit/∂x|, of the shape of x and with sum 1: the measured field of one output at one input.

    >>> gradient_field(lambda x: 3 * x[1:] - x[:-1], jnp.zeros(4), (1,)).tolist()
    [0.0, 0.25, 0.75, 0.0]
    """
    mass = np.asarray(_absolute_gradient(f, jnp.asarray(x), unit))
    total = mass.sum()
    if not (np.isfinite(total) and total > 0):
        raise ValueError(
            f"The gradient of output {unit} is zero or not finite at this input; give another input or unit."
        )
    return mass / total


class MeasuredField(NamedTuple):
    """First and last position with any gradient along an axis, and mean and standard deviation of its mass."""

    first: int
    last: int
    centre: float
    deviation: float

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def measure_field(field: Float[np.ndarray, "..."], axis: int = -1) -> MeasuredField:
    """Support, centre and spread of a field along one axis.

    >>> measure_field(np.array([0.0, 0.25, 0.5, 0.25, 0.0]))[:3]
    (1, 3, 2.0)
    """
    mass = np.moveaxis(np.asarray(field, float), axis, 0)
    mass = mass.reshape(len(mass), -1).sum(1)
    mass = mass / mass.sum()
    seen, at = np.flatnonzero(mass), np.arange(len(mass))
    centre = float(mass @ at)
    return MeasuredField(int(seen[0]), int(seen[-1]), centre, float(np.sqrt(mass @ (at - centre) ** 2)))
