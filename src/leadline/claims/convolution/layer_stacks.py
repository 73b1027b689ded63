"""What a stack of layers costs and how much of the input it sees, before it is built."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, networks
from leadline.convolution import ConvLayer, DenseLayer, GroupLayer, LocalLayer, PoolLayer
from leadline.evidence import Choice, Range, close, exactly, figure, frequency, instrument, printed


@instrument(
    "layer-stack-calculator",
    says=(
        "Shapes, weights, multiply-adds and activations of a stack follow from its settings alone. Sharing a window's "
        "weights over all positions takes 10⁷ weights of a dense layer to 25; stride and pooling shrink activations "
        "and the dense weights behind them, not the convolution's parameters."
    ),
    formula=r"P = C_{out} (C_{in} K^2 / g + 1), \quad MAC = C_{out} C_{in} K^2 / g \cdot H' W'",
    sources=("penn", "cam"),
    shows=("convolution.stack_costs", "convolution.ConvLayer", "convolution.shared_weight_counts"),
)
def layer_stack_calculator(
    key,
    side: Annotated[int, Range(16, 128)] = 32,
    channels: Annotated[int, Range(1, 64)] = 8,
    kernel: Annotated[int, Range(1, 7)] = 5,
    stride: Annotated[int, Range(1, 3)] = 1,
    dilation: Annotated[int, Range(1, 2)] = 1,
):
    """A stack of two convolutions (the second with `stride` and `dilation`), pooling and a dense layer, against the
    arrays that Equinox makes for it; and the counts that the sources print."""
    counts = convolution.shared_weight_counts(100 * 100, 1000, 25)
    yield exactly(
        [counts["dense"], counts["local"], counts["convolution"]],
        [10**7, 25_000, 25],
        "100 x 100 pixels to 1000 outputs: dense, local, shared weights",
    )
    line = (1, 1024)  # a row of pixels with 1000 windows of 25
    local, shared = (kind(1, 25).weights(line) for kind in (LocalLayer, ConvLayer))
    yield exactly([local, shared], [25_000, 25], "1000 windows of 25: layers built to that size")
    yield exactly(LocalLayer(1, 25).biases(line), 1000, "biases of 1000 local windows")
    for s in (1, 2):
        layer = ConvLayer(25, 5, stride=s)
        found = [layer.weights((10, 32, 32)), layer.biases((10, 32, 32))]
        yield exactly(found, [6250, 25], f"10 to 25 channels, 5 x 5, stride {s}: weights and biases")
    image = (1, 64, 64)
    sizes = [DenseLayer(64 * 64).weights(image), GroupLayer(1).weights(image), GroupLayer(1, 256).weights(image)]
    yield exactly(sizes, [16_777_216, 4096, 256], "64 x 64 to itself: dense, over the group, with a 16 x 16 filter")

    def stack(pool: bool) -> list:
        convs = [
            ConvLayer(channels, kernel, padding=kernel // 2),
            ConvLayer(2 * channels, 3, stride=stride, padding=dilation, dilation=dilation),
        ]
        return [convs[0], PoolLayer(2), convs[1], DenseLayer(10)] if pool else [*convs, DenseLayer(10)]

    pooled, plain = (convolution.stack_costs(stack(pool), (3, side, side)) for pool in (True, False))
    shapes, parameters, seen = _equinox(stack(True), (3, side, side), key)
    yield exactly(
        [n for s in pooled.rows for n in s.shape], [n for s in shapes for n in s], "output shapes, all layers"
    )
    yield exactly(pooled.parameters, parameters, "parameters of the stack, against those of the Equinox modules")
    yield exactly(
        [r.multiply_adds for r in pooled.rows], seen, "multiply-adds of every layer, windows counted one by one"
    )

    with_pool, without = (
        {kind: sum(r.weights for r in costs.rows if r.kind == kind) for kind in ("conv", "dense")}
        for costs in (pooled, plain)
    )
    yield exactly(with_pool["conv"], without["conv"], "weights of the convolutions with and without pooling")
    yield printed(
        exactly(with_pool["conv"] < without["conv"], True, "pooling reduces the parameters of the convolutions"),
        "penn",
        "pooling reduces the number of parameters",
    )
    late, early = (costs.rows[-2].activations for costs in (pooled, plain))
    yield exactly(
        with_pool["dense"] * early, without["dense"] * late, "dense weights shrink as the activations before them"
    )
    names = [f"{i + 1} {r.kind}" for i, r in enumerate(pooled.rows)]
    yield figure.bars(
        f"{pooled.parameters:,} parameters and {pooled.multiply_adds:,} multiply-adds: the work is not where the "
        "weights are",
        x="layer",
        y="count",
        values={
            "weights and biases": {n: r.weights + r.biases for n, r in zip(names, pooled.rows, strict=True)},
            "multiply-adds": {n: r.multiply_adds for n, r in zip(names, pooled.rows, strict=True)},
            "activations": {n: r.activations for n, r in zip(names, pooled.rows, strict=True)},
        },
        log=True,
    )


def _equinox(layers: list, shape: tuple[int, ...], key) -> tuple[list, int, list[int]]:
    """Shapes and parameters of the same stack made of Equinox modules, never run; multiply-adds window by window."""
    shapes, parameters, adds = [], 0, []
    for layer in layers:
        x = jax.ShapeDtypeStruct(shape, jnp.float64)
        if isinstance(layer, DenseLayer):
            module = eqx.filter_eval_shape(eqx.nn.Linear, int(np.prod(shape)), layer.units, key=key)
            output = eqx.filter_eval_shape(lambda m, x: m(x.ravel()), module, x)
            adds.append(int(np.prod(module.weight.shape)))
        elif isinstance(layer, PoolLayer):
            module = eqx.nn.MaxPool2d(layer.kernel, layer.stride)
            output = eqx.filter_eval_shape(lambda m, x: m(x), module, x)
            adds.append(0)
        else:
            module = eqx.filter_eval_shape(
                eqx.nn.Conv2d, shape[0], layer.channels, layer.kernel, layer.stride, layer.padding,
                dilation=layer.dilation, key=key,
            )  # fmt: skip
            output = eqx.filter_eval_shape(lambda m, x: m(x), module, x)
            extent = layer.dilation * (layer.kernel - 1)
            starts = range(0, shape[1] + 2 * layer.padding - extent, layer.stride)
            adds.append(len(starts) ** 2 * int(np.prod(module.weight.shape)))
        shape = output.shape
        shapes.append(shape)
        parameters += networks.parameter_count(module)
    return shapes, parameters, adds


@instrument(
    "receptive-field",
    says=(
        "One output of a stack sees r = 1 + Σ (k - 1) dil Π s positions along an axis, and no others: the support of "
        "its input gradient is that box. The gradient's mass is much narrower, and what lies r steps back cannot be "
        "recalled."
    ),
    formula=r"r = 1 + \sum_l (k_l - 1)\, d_l \prod_{m<l} s_m",
    sources=("eth", "sheet", "penn"),
    shows=("convolution.receptive_field", "convolution.gradient_field", "convolution.measure_field"),
)
def receptive_field(
    key,
    depth: Annotated[int, Range(1, 5)] = 3,
    widest: Annotated[int, Range(2, 4)] = 3,
    pooling: Annotated[str, Choice("random", "never")] = "random",
    levels: Annotated[int, Range(2, 5)] = 4,
):
    """A random stack (kernels to `widest`, dilations, strides, mean pooling) with positive weights; the same with
    constant kernels; and recall by `levels` dilated layers with 2 taps."""
    rng = data.generator(key)
    layers = []
    for _ in range(depth):
        if pooling == "random" and rng.uniform() < 0.25:
            layers.append(PoolLayer(2))
        else:
            k, d = int(rng.integers(2, widest + 1)), int(rng.integers(1, 3))
            layers.append(ConvLayer(2, k, stride=int(rng.integers(1, 3)) if len(layers) < 3 else 1, dilation=d))
    field = convolution.receptive_field(layers)
    unit = 1
    side = field.box(unit)[1] + field.jump + 1
    net = convolution.drawn_stack(layers, 1, positive=True, key=key)
    image = jnp.ones((1, side, side))
    mass = convolution.gradient_field(net, image, (0, unit, unit))[0]
    for axis, name in ((0, "down"), (1, "across")):
        seen = convolution.measure_field(mass, axis)
        yield exactly([seen.first, seen.last], field.box(unit), f"first and last input with any gradient, {name}")
    taps = _reached(layers) + unit * field.jump
    yield exactly(np.flatnonzero(mass.sum(0)), taps, "every tap that the dilations leave, and no other")
    flat = convolution.StackNetwork([None if k is None else jnp.ones_like(k) for k in net.kernels], net.layers)
    even = convolution.gradient_field(flat, image, (0, unit, unit))[0]
    spread = convolution.measure_field(even)
    predicted = convolution.uniform_field_deviation(layers)
    yield close(spread.deviation, predicted, "constant kernels: standard deviation of the gradient's mass", rtol=1e-10)
    yield close(spread.centre, field.centre(unit), "constant kernels: centre of the mass", rtol=1e-10)

    dilations = [2**level for level in range(levels)]
    r = convolution.receptive_field([ConvLayer(1, 2, dilation=d) for d in dilations]).size
    yield exactly(r, 2**levels, "dilations 1, 2, 4, ...: field")
    delays = np.unique([0, r // 2, r - 1, r, r + 1, 2 * r])
    found = [convolution.fit_recall(2, dilations, int(d), rows=1500, rng=rng) for d in delays]
    right = np.array([f.right for f in found])
    inside = delays < r
    yield exactly(right[inside], 1500, "delays below r: recalled in 1500 new sequences")
    yield frequency(right[~inside], 1500, 0.5, "delays from r on: right by chance")
    low, high = field.box(unit)
    block = -(-side // 40)
    yield figure.beside(
        f"A box of {field.size} inputs a side, gradient deviation {spread.deviation:.1f}; recall ends at delay {r}",
        figure.heatmap(
            f"Gradient of output (1, 1), constant kernels; its box is {low} to {high}",
            x="input column",
            y="input row",
            values=_blocks(even, block),
            xs=np.arange(0, side, block).tolist(),
            ys=np.arange(0, side, block).tolist(),
            colour="share",
        ),
        figure.curves(
            f"Recall of the sign heard d steps ago, r = {r}",
            x="delay d",
            y="share right",
            lines={"predicted": ([0, r - 1, r, delays[-1]], [1.0, 1.0, 0.5, 0.5])},
            points={"fitted": (delays, right / 1500)},
        ),
    )


def _blocks(field: np.ndarray, block: int) -> np.ndarray:
    """Sums over squares of `block` cells a side."""
    rows = np.add.reduceat(field, np.arange(0, len(field), block), axis=0)
    return np.add.reduceat(rows, np.arange(0, field.shape[1], block), axis=1)


def _reached(layers: list) -> np.ndarray:
    """The inputs that output 0 is connected with, by following every tap backwards."""
    positions = {0}
    for layer in reversed(layers):
        positions = {p * layer.stride + t * layer.dilation for p in positions for t in range(layer.kernel)}
    return np.array(sorted(positions))
