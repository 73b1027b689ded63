"""The kinds of layers that hold no window of their own: global pooling, dropout, upsampling, and blocks of branches."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from leadline.regularisation.layers.dropout import check_rate
from leadline.regularisation.layers.normalisation import Normalisation

from .layer_kinds import (
    ConvLayer,
    DenseLayer,
    GroupLayer,
    LocalLayer,
    Pooling,
    PoolLayer,
    Shape,
    Weightless,
    check_pooling,
    scales,
)


@dataclass(frozen=True)
class GlobalPool(Weightless):
    """The maximum or mean of each channel over all positions: (channels, *sides) to (channels,).

    >>> GlobalPool("max").output((32, 7, 7))
    (32,)
    """

    kind: Pooling = "mean"

    def __post_init__(self) -> None:
        check_pooling(self.kind)

    def output(self, shape: Shape) -> Shape:
        return shape[:1]


@dataclass(frozen=True)
class DropoutLayer(Weightless):
    """Sets each number to 0 with probability `rate` in training (`regularisation.Dropout`, inverted)."""

    rate: float

    def __post_init__(self) -> None:
        check_rate("DropoutLayer", self.rate)

    def output(self, shape: Shape) -> Shape:
        return shape


@dataclass(frozen=True)
class UpLayer:
    """Transposed convolution with kernel = stride = `factor`: every position becomes a block of factor^d positions.

    The blocks do not overlap, so that no checkerboard comes of it: y[c, f i + a] = b_c + Σ_r w[c, r, a] x[r, i].

    >>> UpLayer(8).output((16, 7, 7)), UpLayer(8).weights((16, 7, 7))
    ((8, 14, 14), 512)
    """

    channels: int
    factor: int = 2
    bias: bool = True
    normalisation: Normalisation | None = None
    linear: bool = False

    def __post_init__(self) -> None:
        if min(self.channels, self.factor) < 1:
            raise ValueError(
                f"UpLayer has {self.channels} channels and factor {self.factor}; give whole numbers above 0."
            )

    def output(self, shape: Shape) -> Shape:
        return (self.channels, *(self.factor * n for n in shape[1:]))

    def weights(self, shape: Shape) -> int:
        return self.channels * shape[0] * self.factor ** (len(shape) - 1)

    def biases(self, shape: Shape) -> int:
        return self.channels * (self.bias + scales(self.normalisation))

    def multiply_adds(self, shape: Shape) -> int:
        return self.weights(shape) * prod(shape[1:])


@dataclass(frozen=True)
class Residual:
    """x + branch(x), with the activation behind the sum (`linear`: without) and none behind the branch's last layer.

    Where the branch changes the shape, x goes through a convolution of one tap with the branch's stride (He et al.
    2015).

    >>> Residual([ConvLayer(32, 3, stride=2, padding=1), ConvLayer(32, 3, padding=1)]).output((16, 8, 8))
    (32, 4, 4)
    """

    layers: tuple["Layer", ...]
    linear: bool

    def __init__(self, layers: Sequence["Layer"], linear: bool = False) -> None:
        object.__setattr__(self, "layers", tuple(layers))
        object.__setattr__(self, "linear", linear)
        if not self.layers:
            raise ValueError("Residual got no layers, so that it would double its input; give a branch.")

    def projection(self, shape: Shape) -> ConvLayer | None:
        """The convolution of one tap beside the branch, or None where the branch keeps the shape."""
        given = stack_output(self.layers, shape)
        if given == shape:
            return None
        if len(given) != len(shape):
            raise ValueError(f"The branch of Residual takes {shape} to {given}, which cannot be added; keep the sides.")
        stride = prod(getattr(layer, "stride", 1) for layer in self.layers)
        shortcut = ConvLayer(given[0], 1, stride=stride, bias=False, linear=True)
        if shortcut.output(shape) != given:
            raise ValueError(
                f"The branch of Residual takes {shape} to {given}, while its shortcut of stride {stride} gives "
                f'{shortcut.output(shape)}; use padding "same" in the branch.'
            )
        return shortcut

    def output(self, shape: Shape) -> Shape:
        self.projection(shape)
        return stack_output(self.layers, shape)


@dataclass(frozen=True)
class Parallel:
    """Branches beside one another, their channels concatenated; an empty branch is the input itself.

    Branches of several kernels make an inception block; an empty one beside pooling and upsampling is the skip of a
    U-Net.

    >>> Parallel([(), (ConvLayer(8, 3, padding="same"),)]).output((4, 6, 6))
    (12, 6, 6)
    """

    branches: tuple[tuple["Layer", ...], ...]

    def __init__(self, branches: Sequence[Sequence["Layer"]]) -> None:
        object.__setattr__(self, "branches", tuple(tuple(branch) for branch in branches))
        if not self.branches:
            raise ValueError("Parallel got no branches; give one or more lists of layers.")

    def output(self, shape: Shape) -> Shape:
        given = [stack_output(branch, shape) for branch in self.branches]
        sides = {shape[1:] for shape in given}
        if len(sides) > 1:
            told = " and ".join(" x ".join(map(str, each)) or "none" for each in sorted(sides))
            raise ValueError(
                f"The branches of Parallel on {' x '.join(map(str, shape[1:]))} positions give {told}, which cannot be "
                "concatenated; a skip over pooling by 2 needs even sides there, so pad or crop the input."
            )
        return (sum(shape[0] for shape in given), *given[0][1:])


Window = ConvLayer | LocalLayer | PoolLayer
Weighted = ConvLayer | LocalLayer | DenseLayer | UpLayer
Layer = (
    ConvLayer
    | LocalLayer
    | PoolLayer
    | DenseLayer
    | GroupLayer
    | GlobalPool
    | DropoutLayer
    | UpLayer
    | Residual
    | Parallel
)


def stack_output(layers: Sequence[Layer], shape: Shape) -> Shape:
    """The shape that a stack gives; ValueError where a layer has no positions to slide over."""
    for layer in layers:
        if len(shape) < 2 and not isinstance(layer, DenseLayer | DropoutLayer):
            raise ValueError(
                f"{type(layer).__name__} stands behind a dense layer or a global pooling, which leaves no positions to "
                "slide over."
            )
        shape = layer.output(shape)
    return shape


def is_weighted(layer: Layer) -> bool:
    """Whether the layer, or one in its branches, has weights."""
    if isinstance(layer, Residual):
        return any(map(is_weighted, layer.layers))
    if isinstance(layer, Parallel):
        return any(is_weighted(each) for branch in layer.branches for each in branch)
    return isinstance(layer, Weighted | GroupLayer)
