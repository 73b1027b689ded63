"""The kinds of layers of a stack, each knowing its output shape, its weights and its work."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ConvLayer:
    """A convolution to `channels` channels: windows of `kernel` taps, `dilation` apart, every `stride` positions.

    Weights: channels · (input channels / groups) · kernel^d, shared by all positions, and one bias per channel.

    >>> ConvLayer(25, 5, stride=2).weights((10, 100, 100))
    6250
    """

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    bias: bool = True

    def __post_init__(self) -> None:
        _positive(self, "channels", "kernel", "stride", "dilation", "groups")
        if self.channels % self.groups:
            raise ValueError(f"{self.channels} channels do not divide into {self.groups} groups; choose a divisor.")

    def output(self, shape: Shape) -> Shape:
        if shape[0] % self.groups:
            raise ValueError(f"{shape[0]} input channels do not divide into {self.groups} groups; choose a divisor.")
        return (self.channels, *(window_count(n, self) for n in shape[1:]))

    def weights(self, shape: Shape) -> int:
        return self.channels * (shape[0] // self.groups) * self.kernel ** (len(shape) - 1)

    def biases(self, shape: Shape) -> int:
        return self.channels if self.bias else 0

    def multiply_adds(self, shape: Shape) -> int:
        return self.weights(shape) * prod(self.output(shape)[1:])


@dataclass(frozen=True)
class LocalLayer(ConvLayer):
    """Locally connected: the windows of a convolution, but every position has weights and biases of its own."""

    def weights(self, shape: Shape) -> int:
        return super().weights(shape) * prod(self.output(shape)[1:])

    def biases(self, shape: Shape) -> int:
        return prod(self.output(shape)) if self.bias else 0

    def multiply_adds(self, shape: Shape) -> int:
        return self.weights(shape)


@dataclass(frozen=True)
class PoolLayer:
    """Maximum or mean over windows of `kernel` positions every `stride` (`kernel` if not given), by channel."""

    kernel: int
    stride: int
    padding: int
    dilation: int

    def __init__(self, kernel: int, stride: int | None = None, padding: int = 0, dilation: int = 1) -> None:
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "stride", kernel if stride is None else stride)
        object.__setattr__(self, "padding", padding)
        object.__setattr__(self, "dilation", dilation)
        _positive(self, "kernel", "stride", "dilation")

    def output(self, shape: Shape) -> Shape:
        return (shape[0], *(window_count(n, self) for n in shape[1:]))

    def weights(self, shape: Shape) -> int:
        return 0

    def biases(self, shape: Shape) -> int:
        return 0

    def multiply_adds(self, shape: Shape) -> int:
        return 0


@dataclass(frozen=True)
class DenseLayer:
    """Every output sees every input: units · inputs weights, and one bias per unit."""

    units: int
    bias: bool = True

    def __post_init__(self) -> None:
        _positive(self, "units")

    def output(self, shape: Shape) -> Shape:
        return (self.units,)

    def weights(self, shape: Shape) -> int:
        return self.units * prod(shape)

    def biases(self, shape: Shape) -> int:
        return self.units if self.bias else 0

    def multiply_adds(self, shape: Shape) -> int:
        return self.weights(shape)


@dataclass(frozen=True)
class GroupLayer:
    """A convolution over a finite group: (κX)(g) = Σ_h κ(g⁻¹h) X(h) on signals of shape (channels, ..., ...) with
    |G| = product of the axes: |G| weights per pair of channels, or `support` of them where κ is restricted."""

    channels: int
    support: int | None = None
    bias: bool = True

    def __post_init__(self) -> None:
        _positive(self, "channels", *(() if self.support is None else ("support",)))

    def output(self, shape: Shape) -> Shape:
        return (self.channels, *shape[1:])

    def weights(self, shape: Shape) -> int:
        order = prod(shape[1:])
        return self.channels * shape[0] * min(order, self.support or order)

    def biases(self, shape: Shape) -> int:
        return self.channels if self.bias else 0

    def multiply_adds(self, shape: Shape) -> int:
        return self.weights(shape) * prod(shape[1:])


StackLayer = ConvLayer | LocalLayer | PoolLayer | DenseLayer | GroupLayer


def window_count(length: int, layer: ConvLayer | PoolLayer) -> int:
    """How many windows fit: ⌊(n + 2 pad - k_eff)/stride⌋ + 1 with k_eff = dilation (k - 1) + 1.

    >>> window_count(28, PoolLayer(5, 3)), window_count(6, PoolLayer(3, 2))
    (8, 2)
    """
    extent = layer.dilation * (layer.kernel - 1) + 1
    count = (length + 2 * layer.padding - extent) // layer.stride + 1
    if count < 1:
        raise ValueError(
            f"A window of {extent} positions does not fit {length} with padding {layer.padding}; "
            "give a longer input, more padding or a smaller kernel."
        )
    return count


def window_layers(layers: Sequence[StackLayer]) -> tuple[ConvLayer | PoolLayer, ...]:
    """The layers as windows; ValueError where one sees the whole input."""
    windows = []
    for layer in layers:
        if isinstance(layer, DenseLayer | GroupLayer):
            raise ValueError(f"{type(layer).__name__} sees the whole input; give convolutions and poolings only.")
        windows.append(layer)
    return tuple(windows)


def _positive(layer: StackLayer, *names: str) -> None:
    for name in names:
        if getattr(layer, name) < 1:
            raise ValueError(f"{type(layer).__name__} has {name} {getattr(layer, name)}; give a whole number above 0.")
    padding = getattr(layer, "padding", 0)
    if padding < 0:
        raise ValueError(f"{type(layer).__name__} has padding {padding}; give 0 or more.")
