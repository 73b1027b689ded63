"""What a stack of layers costs and how much of the input it sees, before it is built."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, networks, sequences
from leadline.convolution import ConvLayer, ConvNetwork, DenseLayer, PoolLayer
from leadline.convolution.layers.layer_kinds import GroupLayer, LocalLayer
from leadline.convolution.layers.receptive_fields import uniform_field_deviation
from leadline.evidence import Int, OneOf, close, exactly, frequency, instrument
from leadline.presentation import figure


@instrument(sources=("penn", "cam"))
def layer_stack_calculator(
    key,
    side: Int(16, 128) = 32,
    channels: Int(1, 64) = 8,
    kernel: Int(1, 7) = 5,
    stride: Int(1, 3) = 1,
    dilation: Int(1, 2) = 1,
):
    r"""Parameter and cost count of convolutional stacks.

    The shapes, weights, multiply-adds and activations of a stack follow from its settings alone. Sharing the weights
    of a window over all positions takes the 10⁷ weights of a dense layer down to 25. Stride and pooling shrink the
    activations and the dense weights behind them, not the parameters of the convolution.

    $$P = C_{\mathrm{out}} (C_{in} K^2 / g + 1), \quad \mathrm{MAC} = C_{\mathrm{out}} C_{in} K^2 / g \cdot H' W'$$

    Check: A stack of two convolutions (the second with `stride` and `dilation`), pooling and a dense layer is compared
    with the arrays that Equinox makes for it, and the counts are compared with those given in the sources.
    """
    counts = convolution.shared_weight_counts(100 * 100, 1000, 25)
    kinds = [counts["dense"], counts["local"], counts["convolution"]]
    yield exactly(kinds, [10**7, 25_000, 25], "100 x 100 pixels to 1000 outputs: dense, local, shared weights")
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
    first = ConvLayer(channels, kernel, padding=kernel // 2)
    second = ConvLayer(2 * channels, 3, stride=stride, padding=dilation, dilation=dilation)
    stack = [first, PoolLayer(2), second, DenseLayer(10)]
    pooled = convolution.stack_costs(stack, (3, side, side))
    plain = convolution.stack_costs([first, second, DenseLayer(10)], (3, side, side))
    shapes, parameters, seen = _equinox(stack, (3, side, side), key)
    found, expected = ([n for shape in each for n in shape] for each in ([r.shape for r in pooled.rows], shapes))
    yield exactly(found, expected, "output shapes of all layers, against those of the Equinox modules")
    yield exactly(pooled.parameters, parameters, "parameters of the stack, against those of the Equinox modules")
    work = [r.multiply_adds for r in pooled.rows]
    yield exactly(work, seen, "multiply-adds of every layer, windows counted one by one")
    (convs, dense), (plain_convs, plain_dense) = (
        [sum(r.weights for r in costs.rows if r.kind == kind) for kind in ("conv", "dense")]
        for costs in (pooled, plain)
    )
    yield exactly(convs, plain_convs, "weights of the convolutions with and without pooling")
    late, early = (costs.rows[-2].activations for costs in (pooled, plain))
    yield exactly(dense * early, plain_dense * late, "dense weights shrink as the activations before them")
    bars = {"weights and biases": {}, "multiply-adds": {}, "activations": {}}
    for i, r in enumerate(pooled.rows):
        for counted, number in zip(bars.values(), (r.weights + r.biases, r.multiply_adds, r.activations), strict=True):
            counted[f"{i + 1} {r.kind}"] = number
    sums = f"{pooled.parameters:,} parameters and {pooled.multiply_adds:,} multiply-adds"
    yield figure.bars(f"{sums}: the work is not where the weights are", "layer", "count", values=bars, log=True)


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
            given = (shape[0], layer.channels, layer.kernel, layer.stride, layer.padding, layer.dilation)
            module = eqx.filter_eval_shape(eqx.nn.Conv2d, *given, key=key)
            output = eqx.filter_eval_shape(lambda m, x: m(x), module, x)
            extent = layer.dilation * (layer.kernel - 1)
            starts = range(0, shape[1] + 2 * layer.padding - extent, layer.stride)
            adds.append(len(starts) ** 2 * int(np.prod(module.weight.shape)))
        shape = output.shape
        shapes.append(shape)
        parameters += networks.parameter_count(module)
    return shapes, parameters, adds


@instrument(sources=("eth", "sheet", "penn"))
def receptive_field(
    key,
    depth: Int(1, 5) = 3,
    widest: Int(2, 4) = 3,
    pooling: OneOf("random", "never") = "random",
    levels: Int(2, 5) = 4,
):
    r"""Receptive field of a convolutional stack.

    One output of a stack sees $r = 1 + \sum_l (k_l - 1)\, d_l \prod_{m<l} s_m$ positions along an axis (kernel sizes
    k, dilations d, strides s), and no others: the support of its input gradient is that box. The mass of the gradient
    is much narrower, and what lies r steps back cannot be recalled.

    $$r = 1 + \sum_l (k_l - 1)\, d_l \prod_{m<l} s_m$$

    Check: The support of the input gradient is measured on a random stack with positive weights (kernels up to
    `widest`, dilations, strides, mean pooling), and again with constant kernels. Recall is tested with `levels`
    dilated layers of 2 taps.
    """
    rng = data.generator(key)
    layers = []
    for _ in range(depth):
        if pooling == "random" and rng.uniform() < 0.25:
            layers.append(PoolLayer(2, kind="mean"))
        else:
            k, d = int(rng.integers(2, widest + 1)), int(rng.integers(1, 3))
            s = int(rng.integers(1, 3)) if len(layers) < 3 else 1
            layers.append(ConvLayer(2, k, stride=s, dilation=d, bias=False))
    field, unit = convolution.receptive_field(layers), 1
    low, high = field.box(unit)
    side = high + field.jump + 1
    image = jnp.ones((1, side, side))
    net = jax.tree.map(jnp.abs, ConvNetwork(layers, image.shape, "identity", key=key))
    mass = convolution.gradient_field(net, image, (0, unit, unit))[0]
    for axis, name in ((0, "down"), (1, "across")):
        seen = convolution.measure_field(mass, axis)
        yield exactly([seen.first, seen.last], [low, high], f"first and last input with any gradient, {name}")
    taps = _reached(layers) + unit * field.jump
    yield exactly(np.flatnonzero(mass.sum(0)), taps, "inputs with any gradient: every tap that the dilations leave")
    flat = jax.tree.map(jnp.ones_like, net)
    even = convolution.gradient_field(flat, image, (0, unit, unit))[0]
    spread, predicted = convolution.measure_field(even), uniform_field_deviation(layers)
    yield close(spread.deviation, predicted, "constant kernels: standard deviation of the gradient's mass", rtol=1e-10)
    yield close(spread.centre, field.centre(unit), "constant kernels: centre of the mass", rtol=1e-10)
    dilations = [2**level for level in range(levels)]
    r = convolution.receptive_field([ConvLayer(1, 2, dilation=d) for d in dilations]).size
    yield exactly(r, 2**levels, "receptive field of 2 taps with dilations 1, 2, 4, …")
    delays = np.unique([0, r // 2, r - 1, r, r + 1, 2 * r])
    right = np.array([sequences.fit_recall(2, dilations, int(d), rows=1500, rng=rng).right for d in delays])
    inside = delays < r
    yield exactly(right[inside], 1500, "delays below r: recalled in 1500 new sequences")
    yield frequency(right[~inside], 1500, 0.5, "delays from r on: right by chance")
    corners = np.arange(0, side, -(-side // 40))  # cells of the picture: at most 40 a side
    values = np.add.reduceat(np.add.reduceat(even, corners, axis=0), corners, axis=1)
    name = f"Gradient of output (1, 1), constant kernels; its box is {low} to {high}"
    options = {"xs": corners, "ys": corners, "colour": "share"}
    gradient = figure.heatmap(name, "input column", "input row", values=values, **options)
    lines, points = {"predicted": ([0, r - 1, r, delays[-1]], [1.0, 1.0, 0.5, 0.5])}, {"fitted": (delays, right / 1500)}
    name = f"Recall of the sign heard d steps ago, r = {r}"
    recall = figure.curves(name, "delay d", "share right", lines=lines, points=points)
    box = f"A box of {field.size} inputs a side, gradient deviation {spread.deviation:.1f}"
    yield figure.beside(f"{box}; recall ends at delay {r}", gradient, recall)


def _reached(layers: list) -> np.ndarray:
    """The inputs that output 0 is connected with, by following every tap backwards."""
    positions = {0}
    for layer in reversed(layers):
        positions = {p * layer.stride + t * layer.dilation for p in positions for t in range(layer.kernel)}
    return np.array(sorted(positions))
