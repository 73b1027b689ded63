"""The limit kernel of an ordinary network: an Equinox module or one of Leadline's."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp

from leadline import convolution, networks

from .activation_kernels.activation import ActivationLayer
from .activation_kernels.named import activation_layer
from .convolutional_networks import read_conv_network
from .layers.branches import residual
from .layers.combinators import Identity, Scale, Serial, serial
from .layers.convolution import Conv
from .layers.dense import Dense
from .layers.function_layers import function_layer
from .layers.layer import Layer
from .layers.normalisation import LayerNorm
from .layers.pooling import AvgPool, Flatten, GlobalAvgPool

Parametrisation = Literal["ntk", "standard"]


@dataclass(frozen=True)
class WideKernel:
    """The limit of a network: `network` as wide layers, and `report`, a line per layer saying how it is computed.

    `channels_first`: inputs are (n, channels, ...), as Equinox's convolutions want them. `sides`: the dimensions of
    positions where the axis of channels may be left out of inputs that have one.
    """

    network: Serial
    report: tuple[str, ...]
    channels_first: bool = False
    sides: int | None = None

    def kernel_fn(self, x1: Any, x2: Any = None, get: str | tuple[str, ...] = "ntk") -> Any:
        """As `Layer.kernel_fn`, for batches of the inputs that the network takes."""
        x1, x2 = self._arranged(x1), None if x2 is None else self._arranged(x2)
        return self.network.kernel_fn(x1, x2, get)

    def _arranged(self, x: Any) -> Any:
        if self.sides is not None and jnp.ndim(x) == self.sides + 1:
            return jnp.asarray(x)[..., None]
        return jnp.moveaxis(jnp.asarray(x), 1, -1) if self.channels_first else x

    def __str__(self) -> str:
        return "\n".join(self.report)


def wide_kernel(network: eqx.Module, *, init: str = "he", parametrisation: Parametrisation | None = None) -> WideKernel:
    """The NNGP and tangent kernels of a network like this one with infinitely wide layers, at initialisation.

    Reads `equinox.nn.MLP` and `Sequential` (of Linear, Conv1d, Conv2d, Lambda, average pooling, LayerNorm, Identity,
    and Dropout in inference), `networks.MLP`, `networks.ResidualNetwork` and `convolution.ConvNetwork` (of one or two
    dimensions, with means for pooling and without normalisation). Only the architecture matters, not the present
    weights: Equinox draws weights and biases uniformly from ±1/√fan_in, variance 1/(3 fan_in); ours are drawn by the
    rule `init`, which a network does not remember. Equinox layers are taken in the standard parametrisation, gradients
    in their own weights, so that the tangent kernel has the size of the finite network's (see Dense); with
    parametrisation="ntk" it is that of the same network with its scales outside the weights.
    Refuses, naming the layer, where no limit is known.

    >>> import jax
    >>> net = eqx.nn.MLP(3, 1, width_size=64, depth=1, key=jax.random.key(0))
    >>> for line in wide_kernel(net).report: print(line)
    1 Linear 3 -> 64: closed form
    2 relu: closed form
    3 Linear 64 -> 1: closed form
    """
    read = _Reader(init, parametrisation)
    read.network(network)
    return WideKernel(serial(*read.layers), tuple(read.report), read.channels_first, read.sides)


class _Reader:
    """Walks through a network and collects wide layers and the lines that describe them."""

    def __init__(self, init: str, parametrisation: Parametrisation | None):
        self.init = init
        self.parametrisation: Parametrisation | None = parametrisation
        self.layers: list[Layer] = []
        self.report: list[str] = []
        self.channels_first = False
        self.sides: int | None = None

    def add(self, layer: Layer, name: str, how: str | None = None) -> None:
        self.layers.append(layer)
        self.report.append(f"{len(self.report) + 1} {name}: {how or layer.how()}")

    def refuse(self, layer: Any, why: str) -> None:
        raise ValueError(f"Layer {len(self.report) + 1} ({type(layer).__name__}) has no wide limit: {why}")

    def network(self, network: Any) -> None:
        match network:
            case networks.MLP():
                self._mlp(network)
            case networks.ResidualNetwork():
                self._residual_network(network)
            case convolution.ConvNetwork():
                self.channels_first = not network.channels_last
                if network.channels_last and network.shape[0] == 1:
                    self.sides = len(network.shape) - 1
                read_conv_network(self, network)
            case eqx.nn.MLP():
                self._equinox_mlp(network)
            case eqx.nn.Sequential():
                for layer in network.layers:
                    self.network(layer)
            case _:
                self._layer(network)

    def _layer(self, layer: Any) -> None:
        match layer:
            case eqx.nn.Linear():
                self._linear(layer)
            case eqx.nn.Conv():
                self._convolution(layer)
            case eqx.nn.Lambda():
                self._function(layer.fn)
            case eqx.nn.Identity():
                self.add(Identity(), "Identity")
            case eqx.nn.Dropout():
                if not layer.inference and layer.p != 0:
                    self.refuse(layer, "dropout in training makes the network random; set it to inference.")
                self.add(Identity(), "Dropout in inference", "identity")
            case eqx.nn.LayerNorm():
                self._layer_norm(layer)
            case eqx.nn.AvgPool1d() | eqx.nn.AvgPool2d():
                if layer.use_ceil or any(sum(pair) for pair in layer.padding):
                    self.refuse(layer, "average pooling is read without padding and ceiling only.")
                self.add(AvgPool(tuple(layer.kernel_size), tuple(layer.stride)), f"AvgPool {layer.kernel_size}")
            case eqx.nn.AdaptiveAvgPool1d() | eqx.nn.AdaptiveAvgPool2d() if set(layer.target_shape) == {1}:
                self.add(GlobalAvgPool(), "AdaptiveAvgPool to 1")
            case eqx.nn.BatchNorm():
                self.refuse(layer, "it couples the examples of a batch; use LayerNorm.")
            case eqx.nn.MaxPool1d() | eqx.nn.MaxPool2d() | eqx.nn.MaxPool3d():
                self.refuse(layer, "maxima of dependent Gaussians have no closed form; use average pooling.")
            case eqx.nn.GRUCell() | eqx.nn.LSTMCell():
                self.refuse(layer, "a recurrent cell uses the same weights at every step, which is not read here.")
            case eqx.nn.MultiheadAttention():
                self.refuse(
                    layer, "softmax of q.k/√d has no closed form; see infinite_width.Attention for two that do."
                )
            case _ if callable(layer) and not isinstance(layer, eqx.Module):
                self._function(layer)
            case _:
                self.refuse(layer, "no limit is known here; write it with the layers of infinite_width.")

    def _linear(self, layer: eqx.nn.Linear) -> None:
        inputs = 1 if layer.in_features == "scalar" else layer.in_features
        outputs = 1 if layer.out_features == "scalar" else layer.out_features
        bias = (3 * inputs) ** -0.5 if layer.use_bias else None
        self.add(Dense(outputs, 3**-0.5, bias, self.parametrisation or "standard"), f"Linear {inputs} -> {outputs}")

    def _convolution(self, layer: eqx.nn.Conv) -> None:
        if layer.groups != 1 or set(layer.dilation) != {1} or layer.num_spatial_dims > 2:
            self.refuse(layer, "groups, dilation and more than 2 dimensions are not read.")
        self.channels_first = True
        window, strides = tuple(layer.kernel_size), tuple(layer.stride)
        fan_in = layer.in_channels
        for size in window:
            fan_in *= size
        around = tuple(((w - 1) // 2, w // 2) for w in window)
        padding: Any = layer.padding if isinstance(layer.padding, str) else tuple(tuple(pair) for pair in layer.padding)
        if padding == around and set(strides) == {1}:
            padding = "SAME"
        mode = getattr(layer, "padding_mode", "ZEROS").upper()
        if mode not in ("ZEROS", "CIRCULAR") or (mode == "CIRCULAR" and padding != "SAME") or padding == "SAME_LOWER":
            self.refuse(layer, f"padding {layer.padding} of mode {mode} is not read.")
        padding = "CIRCULAR" if mode == "CIRCULAR" else padding
        bias = (3 * fan_in) ** -0.5 if layer.use_bias else None
        wide = Conv(layer.out_channels, window, strides, padding, 3**-0.5, bias, self.parametrisation or "standard")
        self.add(wide, f"Conv {layer.in_channels} -> {layer.out_channels}, window {window}")

    def _layer_norm(self, layer: eqx.nn.LayerNorm) -> None:
        if len(layer.shape) != 1:
            self.refuse(layer, "it is read over one axis of units only.")
        trained = layer.use_weight and layer.use_bias
        if layer.use_weight != layer.use_bias:
            self.refuse(layer, "give it both gains and offsets, or neither.")
        self.add(LayerNorm(layer.eps, trained), "LayerNorm")

    def _function(self, fn: Any) -> None:
        name = getattr(fn, "__name__", type(fn).__name__)
        try:
            wide = function_layer(fn)
        except ValueError as error:
            raise ValueError(f"Layer {len(self.report) + 1} has no wide limit: {error}") from None
        if not isinstance(wide, Identity):
            self.add(wide, name)

    def _equinox_mlp(self, network: eqx.nn.MLP) -> None:
        for index, layer in enumerate(network.layers):
            self._linear(layer)
            last = index + 1 == len(network.layers)
            self._function(network.final_activation if last else network.activation)

    def spread(self, inputs: int, outputs: int, gain: float = 1.0) -> float:
        """√(n E W²) of weights drawn by the rule `init` for n inputs."""
        if self.init in ("ones", "zeros"):
            raise ValueError(f"Weights drawn by {self.init!r} are not random, and have no limit; name another rule.")
        return gain * (networks.weight_moment(self.init, inputs, outputs) * inputs) ** 0.5

    def kind(self) -> Parametrisation:
        """The parametrisation of layers of ours."""
        return self.parametrisation or "standard"

    def _drawn(self, inputs: int, outputs: int, bias: float | None, gain: float = 1.0) -> None:
        """An affine layer of ours in the standard parametrisation."""
        wide = Dense(outputs, self.spread(inputs, outputs, gain), bias, self.kind())
        self.add(wide, f"affine {inputs} -> {outputs}, init {self.init}")

    def _mlp(self, network: networks.MLP) -> None:
        if network.parametrisation == "mean-field":
            self.refuse(network, "in mean-field scale its outputs vanish as it widens and its features move.")
        self.add(Flatten(), "flatten")
        widths, biased = network.widths, network.layers[0].bias is not None
        bias = network.bias_scale if biased else None
        for index, (inputs, outputs) in enumerate(pairwise(widths)):
            if network.parametrisation == "ntk":
                wide = Dense(outputs, network.gain, bias, self.parametrisation or "ntk")
                self.add(wide, f"affine {inputs} -> {outputs}, NTK parametrisation")
            else:
                self._drawn(inputs, outputs, bias, network.gain)
            if index + 2 < len(widths) or network.last_activation:
                self.add(activation_layer(network.activation), network.activation)

    def _residual_network(self, network: networks.ResidualNetwork) -> None:
        width, inputs = network.first.weight.shape
        self.add(Flatten(), "flatten")
        self._drawn(inputs, width, 0.0)
        block = network.blocks
        phi = activation_layer(block.activation)
        centred = block.centred and float(networks.activation(block.activation)(jnp.zeros(()))) != 0
        odd = phi.odd() if isinstance(phi, ActivationLayer) else isinstance(phi, Identity)
        if centred or (block.skip and block.second is None and not odd):
            self.refuse(
                network,
                f"the branch φ(Wx + b) - φ(0) of {block.activation} has a mean that is added up along the residual "
                "stream; take two_matrices=True and an activation with φ(0) = 0, or an odd activation.",
            )
        spread, kind = self.spread(width, width), self.kind()
        branch = [Dense(width, spread, 0.0, kind), phi]
        if block.second is not None:
            branch += [Dense(width, spread, None, kind)]
        branch += [] if block.scale == 1 else [Scale(block.scale)]
        for index in range(network.depth):
            wide = residual(*branch) if block.skip else serial(*branch)
            self.add(wide, f"block {index + 1}, {block.activation}", phi.how())
        outputs = network.last.weight.shape[0]
        self._drawn(width, outputs, 0.0)
