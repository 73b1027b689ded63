"""The layers of a network with their weights: each is called with an example, the state and a key.

Examples are (*sides, channels) here, since products of patches on CPUs like their channels together.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.networks import activation as activation_called
from leadline.networks.initialisers import initialiser
from leadline.regularisation.layers.dropout import Dropout
from leadline.regularisation.layers.normalisation import BatchNorm, normalisation as normalisation_called

from .block_kinds import DropoutLayer, GlobalPool, Layer, Parallel, Residual, UpLayer, stack_output
from .layer_kinds import ConvLayer, DenseLayer, LocalLayer, PoolLayer, Shape
from .layer_operations import correlate_windows, pool_positions, pool_windows, spread_blocks

State = eqx.nn.State | None


class BuiltLayer(eqx.Module):
    """A layer with its weights, called as layer(x, state, key) -> (output, state)."""

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        raise NotImplementedError


class WeightedLayer(BuiltLayer):
    """A convolution, upsampling or dense layer: weights, bias, normalisation and, unless linear, the activation."""

    weight: Float[Array, "out _ ..."]
    bias: Float[Array, " out"] | None
    normalisation: Any
    layer: ConvLayer | DenseLayer | UpLayer = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        x = x.astype(self.weight.dtype)
        if isinstance(self.layer, ConvLayer):
            y = correlate_windows(x, self.weight, self.layer)
        elif isinstance(self.layer, UpLayer):
            y = spread_blocks(x, self.weight)
        else:
            if x.size != self.weight.shape[1]:
                raise ValueError(
                    f"DenseLayer got an example of {x.size} numbers; it was made for {self.weight.shape[1]}."
                )
            y = self.weight @ jnp.moveaxis(x, -1, 0).ravel()
        if self.bias is not None:
            y = y + self.bias
        if isinstance(self.normalisation, BatchNorm):
            if state is None:
                raise ValueError(
                    "The network has batch normalisations and was given no state; make it by "
                    "eqx.nn.make_with_state(ConvNetwork)(...) and call net(x, state)."
                )
            y, state = self.normalisation(y, state, channels=-1)
        elif self.normalisation is not None:
            y = jnp.moveaxis(self.normalisation(jnp.moveaxis(y, -1, 0)), 0, -1)
        return (y if self.layer.linear else activation_called(self.activation)(y)), state


class PoolingLayer(BuiltLayer):
    """Pooling over windows or over all positions."""

    layer: PoolLayer | GlobalPool = eqx.field(static=True)

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        if isinstance(self.layer, GlobalPool):
            return pool_positions(x, self.layer.kind), state
        return pool_windows(x, self.layer), state


class DroppingLayer(BuiltLayer):
    """Dropout, with a mode."""

    dropout: Dropout

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        return self.dropout(x, key=key), state


class ResidualBlock(BuiltLayer):
    """The activation of x, or its projection, plus the branch of x."""

    branch: tuple[BuiltLayer, ...]
    projection: WeightedLayer | None
    linear: bool = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        y, state = run_branch(self.branch, x, state, key)
        shortcut = x if self.projection is None else self.projection(x, state, None)[0]
        total = shortcut.astype(y.dtype) + y
        return (total if self.linear else activation_called(self.activation)(total)), state


class ParallelBlock(BuiltLayer):
    """The branches' channels, one after another."""

    branches: tuple[tuple[BuiltLayer, ...], ...]

    def __call__(self, x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
        outputs = []
        for index, branch in enumerate(self.branches):
            y, state = run_branch(branch, x, state, None if key is None else jax.random.fold_in(key, index))
            outputs.append(y)
        return jnp.concatenate(outputs, axis=-1), state


def run_branch(branch: Sequence[BuiltLayer], x: Array, state: State, key: PRNGKeyArray | None) -> tuple[Array, State]:
    """The layers one after another, each with a key of its own."""
    for index, layer in enumerate(branch):
        x, state = layer(x, state, None if key is None else jax.random.fold_in(key, index))
    return x, state


class Drawing(eqx.Module):
    """How the weights of a network begin."""

    activation: str
    init: str
    dtype: jax.typing.DTypeLike


def build(layers: Sequence[Layer], shape: Shape, drawing: Drawing, key: PRNGKeyArray) -> tuple[BuiltLayer, ...]:
    """The layers with weights drawn for inputs of that shape."""
    built = []
    for index, layer in enumerate(layers):
        built.append(_built(layer, shape, drawing, jax.random.fold_in(key, index)))
        shape = stack_output((layer,), shape)
    return tuple(built)


def _built(layer: Layer, shape: Shape, drawing: Drawing, key: PRNGKeyArray) -> BuiltLayer:
    match layer:
        case Residual():
            shortcut = layer.projection(shape)
            projection = (
                None
                if shortcut is None
                else _weighted(shortcut, shape, drawing, jax.random.fold_in(key, len(layer.layers)))
            )
            branch = build(layer.layers, shape, drawing, key)
            return ResidualBlock(branch, projection, layer.linear, drawing.activation)
        case Parallel():
            keys = jax.random.split(key, len(layer.branches))
            pairs = zip(layer.branches, keys, strict=True)
            return ParallelBlock(tuple(build(branch, shape, drawing, k) for branch, k in pairs))
        case DropoutLayer():
            return DroppingLayer(Dropout(layer.rate))
        case PoolLayer() | GlobalPool():
            return PoolingLayer(layer)
        case ConvLayer() | UpLayer() | DenseLayer() if not isinstance(layer, LocalLayer):
            return _weighted(layer, shape, drawing, key)
    raise ValueError(
        f"ConvNetwork does not build {type(layer).__name__}, which only stack_costs counts; give convolutions, "
        "poolings, dense layers and blocks of them."
    )


def _weighted(
    layer: ConvLayer | UpLayer | DenseLayer, shape: Shape, drawing: Drawing, key: PRNGKeyArray
) -> WeightedLayer:
    out = layer.units if isinstance(layer, DenseLayer) else layer.channels
    sides = len(shape) - 1
    if isinstance(layer, ConvLayer):
        form = (out, shape[0] // layer.groups, *[layer.kernel] * sides)
        drawn = (out, prod(form[1:]))
    elif isinstance(layer, UpLayer):
        form = (out, shape[0], *[layer.factor] * sides)
        drawn = (out * layer.factor**sides, shape[0])
    else:
        form = drawn = (out, prod(shape))
    weight = initialiser(drawing.init)(key, drawn, drawing.dtype)
    if isinstance(layer, UpLayer):
        weight = jnp.moveaxis(weight.reshape(out, layer.factor**sides, shape[0]), 2, 1)
    norm = None
    if layer.normalisation is not None:
        spatial = not isinstance(layer, DenseLayer)
        if spatial and layer.normalisation == "rms":
            raise ValueError(
                "The normalisation rms is over vectors of features; choose batch, layer, group or instance for "
                "convolutions."
            )
        norm = normalisation_called(layer.normalisation, out, groups=min(8, out), spatial=spatial, dtype=drawing.dtype)
    bias = jnp.zeros(out, drawing.dtype) if layer.bias else None
    return WeightedLayer(weight.reshape(form), bias, norm, layer, drawing.activation)
