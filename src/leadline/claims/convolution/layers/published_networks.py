"""Networks that have a name: without pooling, and with parallel fields."""

from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.convolution import ConvLayer, ConvNetwork, GlobalPool, Parallel
from leadline.differentiation import check_gradient
from leadline.evidence import Int, at_least, at_most, close, exactly, model
from leadline.presentation import figure


@model(sources=("penn",))
def all_convolutional_network(key, first: Int(8, 128) = 96, second: Int(8, 256) = 192, side: Int(16, 48) = 32):
    r"""The all-convolutional network.

    Strides of 2 stand in place of pooling and a mean over positions in place of dense layers (Springenberg et al.
    2014). In the course's form it has 1.66 million weights for CIFAR-10; the course says 1.6, cut off and not rounded.

    $$P = \sum_l C_l (C_{l-1} k_l^2 + 1)$$

    Check: Weights layer by layer from the channels; the receptive field of the layers before the mean; the number of
    weights at the default channels.
    """
    layers = convolution.all_convolutional(10, (first, second))
    costs = convolution.stack_costs(layers, (3, side, side))
    widths = [3, *[first] * 3, *[second] * 5, 10]
    taps = [3] * 8 + [1]
    by_hand = [b * (a * k * k + 1) for (a, b), k in zip(pairwise(widths), taps, strict=True)]
    yield exactly([r.weights + r.biases for r in costs.rows[:-1]], by_hand, "parameters of the nine convolutions")
    whole = convolution.stack_costs(convolution.all_convolutional(), (3, 32, 32))
    count = sum(r.weights for r in whole.rows)
    yield exactly(count // 10**5, 16, "weights with 96 and 192 channels, in hundreds of thousands, cut off")
    fields = [3, 5, 7, 11, 15, 19, 27, 35, 35]
    yield exactly([r.field for r in costs.rows[:-1]], fields, "receptive fields through depth")
    small = ConvNetwork(convolution.all_convolutional(10, (2, 3)), (3, 16, 16), dtype=float, key=key)
    image = jnp.asarray(data.generator(key).normal(size=(3, 16, 16)))
    padded = jnp.pad(image, ((0, 0), (40, 40), (40, 40)))
    scores = [small(jnp.roll(padded, s, 1)) for s in (0, 4, 1)]
    yield close(scores[1], scores[0], "scores after a shift by 4, the product of the strides", atol=1e-10)
    yield at_least(float(jnp.abs(scores[2] - scores[0]).max()), 1e-6, "change of the scores under a shift by 1")
    depth = np.arange(1, 10)
    points = {
        "side": (depth, [r.shape[1] for r in costs.rows[:-1]]),
        "receptive field": (depth, [r.field for r in costs.rows[:-1]]),
    }
    title = (
        f"{costs.parameters:,} parameters: fields grow to {fields[-1]} while maps shrink to {costs.rows[-2].shape[1]}"
    )
    yield figure.curves(title, "convolution", "positions", lines={"predicted field": (depth, fields)}, points=points)


@model(sources=("penn",))
def inception_block(key, channels: Int(8, 256) = 64, narrow: Int(1, 64) = 8):
    r"""The inception block.

    Windows of 1, 3 and 5 taps and a pooled branch stand beside one another, with 1 x 1 convolutions that make the
    channels few before the wide ones: the field of a 5 x 5 convolution at a small part of its cost (Szegedy et al.
    2014).

    $$\sum_b (C r_b + k_b^2 r_b O_b) \ll 25\, C \sum_b O_b$$

    Check: Multiplications from the formula against the calculator; without activations the block's convolutions are
    one 5 x 5 convolution, composed by hand; gradients by the weights against differences.
    """
    out = 16
    block = convolution.inception(out, (narrow, out), (narrow, out), out)
    shape = (channels, 8, 8)
    costs = convolution.stack_costs([block], shape)
    by_hand = channels * out + (channels + 9 * out) * narrow + (channels + 25 * out) * narrow + channels * out
    yield exactly(costs.multiply_adds, 64 * by_hand, "multiplications of the block, against the formula")
    plain = convolution.stack_costs([ConvLayer(4 * out, 5, padding="same")], shape)
    yield at_most(costs.multiply_adds, plain.multiply_adds, "multiplications of the block, below those of one 5 x 5")
    yield exactly(costs.rows[-1].field, 5, "receptive field of the block")
    branches = Parallel([[ConvLayer(3, 1)], [ConvLayer(2, 1), ConvLayer(3, 5, padding="same", bias=False)]])
    net = ConvNetwork([branches, GlobalPool("mean")], (4, 8, 8), "identity", dtype=float, key=key)
    (one,), (reduce, wide) = net.built[0].branches
    whole = np.zeros((6, 4, 5, 5))
    whole[:3, :, 2, 2] = one.weight[:, :, 0, 0]
    whole[3:] = np.einsum("orkl,rc->ockl", wide.weight, reduce.weight[:, :, 0, 0])
    single = ConvNetwork([ConvLayer(6, 5, padding="same", bias=False)], (4, 8, 8), "identity", dtype=float, key=key)
    single = eqx.tree_at(lambda n: n.built[0].weight, single, jnp.asarray(whole))
    x = jnp.asarray(data.generator(key).normal(size=(4, 8, 8)))
    yield close(net.stages(x)[0], single(x), "the linear block, against one 5 x 5 convolution", atol=1e-10)
    smooth = ConvNetwork([convolution.inception(2, (2, 2), (2, 2), 2)], (3, 6, 6), "tanh", dtype=float, key=key)
    image = jnp.asarray(data.generator(key).normal(size=(3, 6, 6)))
    report = check_gradient(lambda net: jnp.sum(jnp.sin(net(image))), smooth, tolerance=1e-7, entries=6, key=key)
    yield at_most(report.error, report.tolerance, "gradient of a block by its weights, against differences, relative")
    rows = np.unique(np.linspace(1, channels, 8).astype(int))
    counts = [
        convolution.stack_costs([convolution.inception(out, (r, out), (r, out), out)], shape).multiply_adds / 64
        for r in rows
    ]
    predicted = [2 * channels * out + (2 * channels + 34 * out) * r for r in rows]
    lines = {"block, formula": (rows, predicted), "one 5 x 5": (rows[[0, -1]], [plain.multiply_adds / 64] * 2)}
    title = f"A field of 5 at {100 * costs.multiply_adds / plain.multiply_adds:.0f}% of the multiplications"
    yield figure.curves(
        title,
        "channels r behind the reductions",
        "multiplications a pixel",
        log="y",
        lines=lines,
        points={"block": (rows, counts)},
    )
