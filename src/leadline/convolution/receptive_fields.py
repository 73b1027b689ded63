"""How much of the input one output of a stack can see, and how much of it the gradient says it does see."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .layer_kinds import ConvLayer, PoolLayer, StackLayer, window_layers


class ReceptiveField(NamedTuple):
    """Output i sees the input positions i·jump - offset, ..., i·jump - offset + size - 1, those in the padding too."""

    size: int
    jump: int
    offset: int

    def box(self, index: int) -> tuple[int, int]:
        """First and last position that output `index` sees."""
        first = index * self.jump - self.offset
        return first, first + self.size - 1

    def centre(self, index: int) -> float:
        """The middle of the box."""
        return index * self.jump - self.offset + (self.size - 1) / 2


def receptive_field(layers: Sequence[StackLayer]) -> ReceptiveField:
    """r = 1 + Σ_l (k_l - 1) dil_l Π_{m<l} s_m along each axis; jump = Π s_l; offset = Σ_l pad_l Π_{m<l} s_m.

    >>> from leadline.convolution import ConvLayer, PoolLayer
    >>> receptive_field([ConvLayer(8, 3, padding=1), PoolLayer(2), ConvLayer(8, 3, padding=1)])
    ReceptiveField(size=8, jump=2, offset=3)
    >>> receptive_field([ConvLayer(1, 2, dilation=2**level) for level in range(5)]).size
    32
    """
    size, jump, offset = 1, 1, 0
    for layer in window_layers(layers):
        size += (layer.kernel - 1) * layer.dilation * jump
        offset += layer.padding * jump
        jump *= layer.stride
    return ReceptiveField(size, jump, offset)


def uniform_field_deviation(layers: Sequence[StackLayer]) -> float:
    """Standard deviation, along an axis, of the gradient's mass where every kernel is constant and positive.

    The mass is then the distribution of a sum of independent uniform steps: σ² = Σ_l (k_l² - 1)/12 (dil_l Π_{m<l}
    s_m)². It grows like √depth while the field grows like depth (Luo et al. 2016).

    >>> from leadline.convolution import ConvLayer
    >>> uniform_field_deviation([ConvLayer(1, 7)])
    2.0
    """
    variance, jump = 0.0, 1
    for layer in window_layers(layers):
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


class StackNetwork(eqx.Module):
    """A stack of convolutions and mean poolings as a linear function of one input (channels, *sides)."""

    kernels: list[Array | None]
    layers: tuple[ConvLayer | PoolLayer, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "_ ..."]) -> Float[Array, "..."]:
        sides = x.ndim - 1
        for layer, kernel in zip(self.layers, self.kernels, strict=True):
            groups = getattr(layer, "groups", 1)
            if kernel is None:
                groups = x.shape[0]
                kernel = jnp.full((groups, 1, *[layer.kernel] * sides), layer.kernel**-sides, x.dtype)
            x = jax.lax.conv_general_dilated(
                x[None],
                kernel,
                [layer.stride] * sides,
                [(layer.padding, layer.padding)] * sides,
                rhs_dilation=[layer.dilation] * sides,
                feature_group_count=groups,
            )[0]
        return x


def drawn_stack(
    layers: Sequence[StackLayer], channels: int, *, sides: int = 2, positive: bool = False, key: PRNGKeyArray
) -> StackNetwork:
    """The stack with Gaussian kernels, or (`positive`) their absolute values, so that no path cancels another.

    >>> from leadline.convolution import ConvLayer, PoolLayer
    >>> drawn_stack([ConvLayer(4, 3), PoolLayer(2)], 1, key=jax.random.key(0))(jnp.ones((1, 8, 8))).shape
    (4, 3, 3)
    """
    kernels: list[Array | None] = []
    windows = window_layers(layers)
    for layer, k in zip(windows, jax.random.split(key, max(len(layers), 1)), strict=False):
        if isinstance(layer, PoolLayer):
            kernels.append(None)
            continue
        shape = (layer.channels, channels // layer.groups, *[layer.kernel] * sides)
        kernel = jax.random.normal(k, shape) / np.sqrt(np.prod(shape[1:]))
        kernels.append(jnp.abs(kernel) if positive else kernel)
        channels = layer.channels
    return StackNetwork(kernels, windows)
