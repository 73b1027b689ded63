"""The kinds of layers of a stack, each knowing its output shape, its weights and its work."""

from dataclasses import dataclass
from math import prod

from leadline.regularisation.layers.normalisation import Normalisation

Shape = tuple[int, ...]
Padding = int | str  # a number, "same" or "valid"
Pooling = str  # "max" or "mean"


@dataclass(frozen=True)
class ConvLayer:
    """A convolution to `channels` channels: windows of `kernel` taps, `dilation` apart, every `stride` positions.

    Weights: channels · (input channels / groups) · kernel^d, shared by all positions, and one bias per channel. The
    border of `padding` positions ("same": as many as keep the size at stride 1; "valid": none) is zeros, or the other
    end of the input where it `wrap`s around. The window is laid on unturned (cross-correlation); `flip` turns the
    kernel first, which is the true convolution; `turn` takes the mean of the kernel's quarter turns. A `normalisation`
    stands between the layer and its activation, which a `linear` layer does without.

    >>> ConvLayer(25, 5, stride=2).weights((10, 100, 100))
    6250
    """

    channels: int
    kernel: int
    stride: int = 1
    padding: Padding = 0
    dilation: int = 1
    groups: int = 1
    bias: bool = True
    wrap: bool = False
    flip: bool = False
    turn: bool = False
    normalisation: Normalisation | None = None
    linear: bool = False

    def __post_init__(self) -> None:
        _positive(self, "channels", "kernel", "stride", "dilation", "groups")
        if self.channels % self.groups:
            raise ValueError(f"{self.channels} channels do not divide into {self.groups} groups; choose a divisor.")
        border(self)

    def output(self, shape: Shape) -> Shape:
        if shape[0] % self.groups:
            raise ValueError(f"{shape[0]} input channels do not divide into {self.groups} groups; choose a divisor.")
        return (self.channels, *(window_count(n, self) for n in shape[1:]))

    def weights(self, shape: Shape) -> int:
        return self.channels * (shape[0] // self.groups) * self.kernel ** (len(shape) - 1)

    def biases(self, shape: Shape) -> int:
        return self.channels * (self.bias + scales(self.normalisation))

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


class Weightless:
    """A layer without parameters and without multiplications."""

    def weights(self, shape: Shape) -> int:
        return 0

    def biases(self, shape: Shape) -> int:
        return 0

    def multiply_adds(self, shape: Shape) -> int:
        return 0


@dataclass(frozen=True)
class PoolLayer(Weightless):
    """Maximum or mean over windows of `kernel` positions every `stride` (`kernel` if not given), by channel."""

    kernel: int
    stride: int
    padding: Padding
    dilation: int
    kind: Pooling

    def __init__(
        self, kernel: int, stride: int | None = None, padding: Padding = 0, dilation: int = 1, kind: Pooling = "max"
    ) -> None:
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "stride", kernel if stride is None else stride)
        object.__setattr__(self, "padding", padding)
        object.__setattr__(self, "dilation", dilation)
        object.__setattr__(self, "kind", kind)
        _positive(self, "kernel", "stride", "dilation")
        check_pooling(kind)
        border(self)

    def output(self, shape: Shape) -> Shape:
        return (shape[0], *(window_count(n, self) for n in shape[1:]))


@dataclass(frozen=True)
class DenseLayer:
    """Every output sees every input: units · inputs weights, and one bias per unit."""

    units: int
    bias: bool = True
    normalisation: Normalisation | None = None
    linear: bool = False

    def __post_init__(self) -> None:
        _positive(self, "units")

    def output(self, shape: Shape) -> Shape:
        return (self.units,)

    def weights(self, shape: Shape) -> int:
        return self.units * prod(shape)

    def biases(self, shape: Shape) -> int:
        return self.units * (self.bias + scales(self.normalisation))

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


def border(layer: ConvLayer | PoolLayer) -> int:
    """The positions added at either end of an axis; "same" is (k_eff - 1)/2, for which k_eff must be odd.

    >>> border(ConvLayer(8, 5, padding="same"))
    2
    """
    if isinstance(layer.padding, int):
        return layer.padding
    if layer.padding == "valid":
        return 0
    extent = layer.dilation * (layer.kernel - 1) + 1
    if layer.padding != "same":
        raise ValueError(f'{type(layer).__name__} has padding {layer.padding!r}; give a number, "same" or "valid".')
    if extent % 2 == 0:
        raise ValueError(
            f'{type(layer).__name__} has padding "same" with a window of {extent} positions, which has no centre; '
            "give an odd kernel or a padding in numbers."
        )
    return extent // 2


def window_count(length: int, layer: ConvLayer | PoolLayer) -> int:
    """How many windows fit: ⌊(n + 2 pad - k_eff)/stride⌋ + 1 with k_eff = dilation (k - 1) + 1.

    >>> window_count(28, PoolLayer(5, 3)), window_count(6, PoolLayer(3, 2))
    (8, 2)
    """
    extent, pad = layer.dilation * (layer.kernel - 1) + 1, border(layer)
    count = (length + 2 * pad - extent) // layer.stride + 1
    if count < 1:
        raise ValueError(
            f"A window of {extent} positions does not fit {length} with padding {pad}; "
            "give a longer input, more padding or a smaller kernel."
        )
    return count


def unseen_positions(length: int, layer: ConvLayer | PoolLayer) -> int:
    """How many of the last positions of an axis no window reaches, because the stride leaves a remainder.

    >>> unseen_positions(7, PoolLayer(2)), unseen_positions(8, ConvLayer(4, 3, stride=2, padding=1))
    (1, 0)
    """
    extent, pad = layer.dilation * (layer.kernel - 1) + 1, border(layer)
    return max((length + 2 * pad - extent) % layer.stride - pad, 0)


def scales(normalisation: Normalisation | None) -> int:
    """Learned numbers a channel of a normalisation: a scale and, but for "rms", a shift."""
    return 0 if normalisation is None else 1 if normalisation == "rms" else 2


def check_pooling(kind: str) -> None:
    if kind not in ("max", "mean"):
        raise ValueError(f'There is no pooling called {kind!r}; choose "max" or "mean".')


def _positive(layer: object, *names: str) -> None:
    for name in names:
        if getattr(layer, name) < 1:
            raise ValueError(f"{type(layer).__name__} has {name} {getattr(layer, name)}; give a whole number above 0.")
    padding = getattr(layer, "padding", 0)
    if isinstance(padding, int) and padding < 0:
        raise ValueError(f"{type(layer).__name__} has padding {padding}; give 0 or more.")
