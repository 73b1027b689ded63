"""The wide layers of a `ConvNetwork`, read off its specification."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, runtime_checkable

from leadline import convolution
from leadline.convolution.layers.layer_kinds import border

from .activation_kernels.named import activation_layer
from .layers.branches import FanInConcat, FanInSum, FanOut, parallel
from .layers.combinators import Identity, serial
from .layers.convolution import Conv
from .layers.dense import Dense
from .layers.layer import Layer
from .layers.pooling import AvgPool, Flatten, GlobalAvgPool


@runtime_checkable
class Reader(Protocol):
    """What collects wide layers and the lines that describe them."""

    layers: list[Layer]

    def add(self, layer: Layer, name: str, how: str | None = None) -> None: ...

    def refuse(self, layer: Any, why: str) -> None: ...

    def spread(self, inputs: int, outputs: int, gain: float = 1.0) -> float: ...

    def kind(self) -> Any: ...


def read_conv_network(reader: Reader, network: convolution.ConvNetwork) -> None:
    """Adds the wide layers of the network, whose biases begin at 0, or refuses the layer that has no limit."""
    if len(network.shape) > 3:
        reader.refuse(network, "more than 2 dimensions of positions are not read.")
    _stack(reader, network.layers, network.built, network.shape, network.activation)


def _stack(
    reader: Reader, layers: Sequence[Any], built: Sequence[Any], shape: tuple[int, ...], activation: str
) -> None:
    for layer, module in zip(layers, built, strict=True):
        match layer:
            case convolution.Residual():
                _residual(reader, layer, module, shape, activation)
            case convolution.Parallel():
                _parallel(reader, layer, module, shape, activation)
            case convolution.ConvLayer():
                _convolution(reader, layer, shape)
            case convolution.DenseLayer():
                _dense(reader, layer, shape)
            case convolution.PoolLayer() | convolution.GlobalPool():
                _pooling(reader, layer, len(shape) - 1)
            case convolution.DropoutLayer():
                if not module.dropout.inference and layer.rate:
                    reader.refuse(layer, "dropout in training makes the network random; set it to inference.")
                reader.add(Identity(), "Dropout in inference", "identity")
            case _:
                reader.refuse(layer, "the positions of a block have weights of their own; see infinite_width's layers.")
        if not getattr(layer, "linear", True):
            reader.add(activation_layer(activation), activation)
        shape = layer.output(shape)


def _convolution(reader: Reader, layer: convolution.ConvLayer, shape: tuple[int, ...]) -> None:
    _without_normalisation(reader, layer)
    if layer.groups != 1 or layer.dilation != 1 or layer.turn:
        reader.refuse(layer, "groups, dilation and turned kernels are not read.")
    sides, pad = len(shape) - 1, border(layer)
    same = layer.kernel == 2 * pad + 1 and layer.stride == 1
    if layer.wrap and pad and not same:
        reader.refuse(layer, 'wrapped borders are read with padding "same" and stride 1 only.')
    padding: Any = "SAME" if same else ((pad, pad),) * sides
    if layer.wrap and pad:
        padding = "CIRCULAR"
    spread = reader.spread(shape[0] * layer.kernel**sides, layer.channels)
    window, strides = (layer.kernel,) * sides, (layer.stride,) * sides
    bias = 0.0 if layer.bias else None
    wide = Conv(layer.channels, window, strides, padding, spread, bias, reader.kind())
    reader.add(wide, f"convolution {shape[0]} -> {layer.channels}, window {window}")


def _dense(reader: Reader, layer: convolution.DenseLayer, shape: tuple[int, ...]) -> None:
    _without_normalisation(reader, layer)
    if len(shape) > 1:
        reader.add(Flatten(), "flatten")
    inputs = prod(shape)
    wide = Dense(layer.units, reader.spread(inputs, layer.units), 0.0 if layer.bias else None, reader.kind())
    reader.add(wide, f"dense {inputs} -> {layer.units}")


def _pooling(reader: Reader, layer: convolution.PoolLayer | convolution.GlobalPool, sides: int) -> None:
    if layer.kind == "max":
        reader.refuse(layer, 'max pooling gives maxima of dependent Gaussians, without closed form; take kind="mean".')
    if isinstance(layer, convolution.GlobalPool):
        reader.add(GlobalAvgPool(), "mean over positions")
        return
    if border(layer) or layer.dilation != 1:
        reader.refuse(layer, "mean pooling is read without padding and dilation only.")
    window = (layer.kernel,) * sides
    reader.add(AvgPool(window, (layer.stride,) * sides), f"mean over windows {window}")


def _residual(reader: Reader, layer: Any, module: Any, shape: tuple[int, ...], activation: str) -> None:
    shortcut = layer.projection(shape)
    beside: list[Layer] = [Identity()]
    if shortcut is None and not layer.linear and not (reader.layers and isinstance(reader.layers[-1], Conv)):
        reader.refuse(
            layer,
            "its activation stands behind x + branch(x), where x is not Gaussian; take linear=True, or other channels, "
            "whose projection is.",
        )
    if shortcut is not None:
        beside = _inside(reader, lambda: _convolution(reader, shortcut, shape))
    branch = _inside(reader, lambda: _stack(reader, layer.layers, module.branch, shape, activation))
    wide = serial(FanOut(2), parallel(serial(*beside), serial(*branch)), FanInSum())
    reader.add(wide, f"residual block with {len(branch)} wide layers in its branch", "sum of independent branches")


def _parallel(reader: Reader, layer: Any, module: Any, shape: tuple[int, ...], activation: str) -> None:
    branches = [
        serial(*(_inside(reader, lambda b=b, m=m: _stack(reader, b, m, shape, activation)) or [Identity()]))
        for b, m in zip(layer.branches, module.branches, strict=True)
    ]
    wide = serial(FanOut(len(branches)), parallel(*branches), FanInConcat())
    reader.add(wide, f"{len(branches)} branches side by side", "mean of the branches' kernels by width")


def _inside(reader: Reader, read: Callable[[], None]) -> list[Layer]:
    """The layers that `read` adds, taken out of the reader again; their lines stay in its report."""
    outer, reader.layers = reader.layers, []
    read()
    found, reader.layers = reader.layers, outer
    return found


def _without_normalisation(reader: Reader, layer: Any) -> None:
    if layer.normalisation is not None:
        reader.refuse(layer, f"the normalisation {layer.normalisation} is not read; leave it out.")
