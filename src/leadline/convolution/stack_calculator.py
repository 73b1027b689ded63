"""What a stack of layers costs before it is built: shapes, parameters, work and activations, layer by layer."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from .layer_kinds import DenseLayer, LocalLayer, PoolLayer, Shape, StackLayer
from .receptive_fields import receptive_field


class LayerRow(NamedTuple):
    """One layer: what it is, the shape it gives, its weights and biases, multiply-adds and outputs per example.

    `flops` counts two operations per multiply-add and kernel^d - 1 per pooled output; `field` is how many positions
    of the input along each axis one output sees (None behind a dense layer: all of them).
    """

    kind: str
    shape: Shape
    weights: int
    biases: int
    multiply_adds: int
    flops: int
    activations: int
    field: int | None


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


def stack_costs(layers: Sequence[StackLayer], shape: Shape) -> StackCosts:
    """Shapes, parameters, multiply-adds, activations and receptive fields of a stack on inputs (channels, *sides).

    >>> from leadline.convolution import ConvLayer, PoolLayer
    >>> from leadline.convolution.layer_kinds import DenseLayer
    >>> costs = stack_costs([ConvLayer(8, 3, padding=1), PoolLayer(2), DenseLayer(10)], (1, 8, 8))
    >>> [row.shape for row in costs.rows], costs.parameters
    ([(8, 8, 8), (8, 4, 4), (10,)], 1370)
    """
    shape = tuple(shape)
    if not shape or min(shape) < 1:
        raise ValueError(f"The input shape is {shape}; give (channels, *sides), whole numbers above 0.")
    rows, windows, local = [], [], True
    for layer in layers:
        if not isinstance(layer, DenseLayer) and len(shape) < 2:
            raise ValueError(
                f"{type(layer).__name__} stands behind a dense layer, which leaves no positions to slide over."
            )
        given, adds = layer.output(shape), layer.multiply_adds(shape)
        pooled = prod(given) * (layer.kernel ** (len(shape) - 1) - 1) if isinstance(layer, PoolLayer) else 0
        local = local and hasattr(layer, "kernel")
        windows.append(layer)
        field = receptive_field(windows).size if local else None
        rows.append(
            LayerRow(
                _kind(layer),
                given,
                layer.weights(shape),
                layer.biases(shape),
                adds,
                2 * adds + pooled,
                prod(given),
                field,
            )
        )
        shape = given
    return StackCosts(tuple(rows))


def _kind(layer: StackLayer) -> str:
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
