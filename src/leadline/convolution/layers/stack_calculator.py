"""What a stack of layers costs before it is built: shapes, parameters, work and activations, layer by layer."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from .block_kinds import DropoutLayer, GlobalPool, Layer, Parallel, Residual, Window, stack_output
from .layer_kinds import DenseLayer, GroupLayer, LocalLayer, PoolLayer, Shape, unseen_positions
from .receptive_fields import ReceptiveField, receptive_field


class LayerRow(NamedTuple):
    """One layer: what it is, the shape it gives, its weights and biases, multiply-adds and outputs per example.

    `flops` counts two operations per multiply-add and kernel^d - 1 per pooled output; `field` is how many positions
    of the input along each axis one output sees (None behind a dense layer: all of them). `biases` has the scales and
    shifts of a normalisation too, and `note` says what a stride leaves unseen. A layer inside a block has the block's
    name before its own.
    """

    kind: str
    shape: Shape
    weights: int
    biases: int
    multiply_adds: int
    flops: int
    activations: int
    field: int | None
    note: str = ""


class StackCosts(NamedTuple):
    """The rows of a stack and their sums."""

    rows: tuple[LayerRow, ...]

    @property
    def parameters(self) -> int:
        return sum(row.weights + row.biases for row in self.rows)

    @property
    def multiply_adds(self) -> int:
        return sum(row.multiply_adds for row in self.rows)

    @property
    def flops(self) -> int:
        return sum(row.flops for row in self.rows)

    @property
    def activations(self) -> int:
        return sum(row.activations for row in self.rows)


def stack_costs(layers: Sequence[Layer], shape: Shape) -> StackCosts:
    """Shapes, parameters, multiply-adds, activations and receptive fields of a stack on inputs (channels, *sides).

    >>> from leadline.convolution import ConvLayer, DenseLayer, PoolLayer
    >>> costs = stack_costs([ConvLayer(8, 3, padding=1), PoolLayer(2), DenseLayer(10)], (1, 8, 8))
    >>> [row.shape for row in costs.rows], costs.parameters
    ([(8, 8, 8), (8, 4, 4), (10,)], 1370)
    """
    shape = tuple(shape)
    if not shape or min(shape) < 1:
        raise ValueError(f"The input shape is {shape}; give (channels, *sides), whole numbers above 0.")
    return StackCosts(tuple(_rows(layers, shape, (), "")))


def _rows(layers: Sequence[Layer], shape: Shape, before: tuple[Layer, ...], name: str) -> list[LayerRow]:
    rows = []
    for layer in layers:
        given = stack_output((layer,), shape)
        if isinstance(layer, Residual | Parallel):
            inside = f"{name}{_kind(layer)}: "
            for branch in (layer.layers,) if isinstance(layer, Residual) else layer.branches:
                rows += _rows(branch, shape, before, inside)
        before = (*before, layer)
        rows.append(_row(layer, shape, given, before, name))
        shape = given
    return rows


def _row(layer: Layer, shape: Shape, given: Shape, before: tuple[Layer, ...], name: str) -> LayerRow:
    counted = layer.projection(shape) if isinstance(layer, Residual) else layer
    if counted is None or isinstance(counted, Parallel | Residual):
        weights = biases = adds = 0
    else:
        weights, biases, adds = (count(shape) for count in (counted.weights, counted.biases, counted.multiply_adds))
    more = 0
    if isinstance(layer, PoolLayer):
        more = prod(given) * (layer.kernel ** (len(shape) - 1) - 1)
    elif isinstance(layer, GlobalPool):
        more = prod(shape) - prod(given)
    elif isinstance(layer, Residual):
        more = prod(given)
    field = _field(before)
    size = None if field is None else field.most
    kind = name + _kind(layer)
    return LayerRow(kind, given, weights, biases, adds, 2 * adds + more, prod(given), size, _note(layer, shape))


def _field(layers: tuple[Layer, ...]) -> ReceptiveField | None:
    """None behind a layer that sees the whole input."""
    whole = any(isinstance(layer, DenseLayer | GroupLayer | GlobalPool) for layer in layers)
    return None if whole else receptive_field(layers)


def _note(layer: Layer, shape: Shape) -> str:
    if not isinstance(layer, Window):
        return ""
    left = {n: unseen_positions(n, layer) for n in shape[1:]}
    told = [f"the last {lost} of {n}" for n, lost in left.items() if lost]
    return f"stride {layer.stride} leaves {' and '.join(told)} positions unseen" if told else ""


def _kind(layer: Layer) -> str:
    if isinstance(layer, GlobalPool | DropoutLayer):
        return f"{layer.kind} over positions" if isinstance(layer, GlobalPool) else "dropout"
    if isinstance(layer, LocalLayer):
        return "local"
    return type(layer).__name__.removesuffix("Layer").lower()


def shared_weight_counts(inputs: int, outputs: int, window: int, order: int | None = None) -> dict[str, int]:
    """Weights, without biases, of one linear map from `inputs` to `outputs` numbers under four ways of sharing.

    Dense: inputs · outputs. Local: window · outputs. Convolution, the same window everywhere: window. Group
    convolution over a group of `order` elements (as many as inputs if not given), full support: order.

    >>> shared_weight_counts(10_000, 1000, 25)
    {'dense': 10000000, 'local': 25000, 'convolution': 25, 'group': 10000}
    """
    if not 1 <= window <= inputs:
        raise ValueError(f"A window of {window} does not fit {inputs} inputs; give 1 to {inputs}.")
    return {
        "dense": inputs * outputs,
        "local": window * outputs,
        "convolution": window,
        "group": inputs if order is None else order,
    }
