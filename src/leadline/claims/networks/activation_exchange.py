"""Exchanging one activation for another: tanh for the sigmoid, ReLU for the absolute value."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Range, at_most, claim, close, exactly, figure, printed


@claim(
    "tanh-sigmoid-network-conversion",
    says="Since tanh z = 2σ(2z) − 1, a tanh network is a sigmoid network of the same widths with W → 2W, b → 2b, and "
    "the next layer V → 2V, c → c − V1. Without an output bias the constant −V1 has nowhere to go.",
    formula=r"V \tanh(Wx + b) + c = 2V\,\sigma(2Wx + 2b) + (c - V\mathbf{1})",
    sources=("eth", "sheet", "penn"),
)
def tanh_sigmoid_network_conversion(
    key,
    hidden_layers: Annotated[int, Range(1, 6)] = 2,
    width: Annotated[int, Range(2, 128, log=True)] = 16,
    steps: Annotated[int, Range(0, 500)] = 200,
):
    """A network trained on a wave with 60 points; then the same without an output bias."""
    x = jnp.linspace(-2.0, 2.0, 60)[:, None]
    y = jnp.sin(3 * x[:, 0]) + 0.5 * x[:, 0]
    net = networks.MLP((1, *[width] * hidden_layers, 1), "tanh", init="lecun", bias_scale=0.5, key=key)

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x)[:, 0] - y) ** 2)

    if steps:
        net, _ = training.minimise(loss, net, optax.adam(0.01), steps, x, y)
    converted = networks.tanh_to_sigmoid(net)
    yield exactly(converted.widths, net.widths, "widths")
    yield exactly(converted.activation, "sigmoid", "activation of the converted network")
    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x)[:, 0])
    before, after = np.asarray(run(net, x)), np.asarray(run(converted, x))
    yield close(after, before, "outputs of the converted network", atol=1e-12)
    back = networks.sigmoid_to_tanh(converted)
    change = max(
        float(jnp.abs(a - b).max())
        for old, new in zip(net.layers, back.layers, strict=True)
        for a, b in ((old.weight, new.weight), (old.bias, new.bias))
    )
    yield at_most(change, 1e-12, "largest change of a weight there and back")

    last, top = net.layers[-1], converted.layers[-1]
    forbidden = eqx.tree_at(lambda n: n.layers[-1].bias, converted, last.bias)
    without, constant = np.asarray(run(forbidden, x)), float(last.weight.sum())
    yield close(without - before, constant, "error without an output bias of its own, against V1", atol=1e-12)
    words = "span{σ(w·x + b)}, without output bias, is the same class for tanh and for the sigmoid at equal width"
    if abs(constant) > 1e-9:
        yield printed(close(without, before, "outputs at the same width, no output bias", atol=1e-12), "eth", words)
    # One more unit with weight 0 and bias 0 is the constant 1/2: it carries -V1 when the output has no bias.
    affine = converted.affine()
    weight, bias = affine[-2]
    extra = [
        *affine[:-2],
        (jnp.concatenate([weight, jnp.zeros((1, weight.shape[1]))]), jnp.append(bias, 0.0)),
        (jnp.concatenate([top.weight, 2 * (top.bias - last.bias)[:, None]], axis=1), last.bias),
    ]
    wider = networks.mlp_from_affine(extra, "sigmoid")
    yield close(run(wider, x), before, "outputs with one constant unit more, no output bias", atol=1e-12)

    difference = after - before
    yield figure.beside(
        f"The two networks agree to {np.abs(difference).max():.1g}",
        figure.curves(
            "A tanh network and its sigmoid form",
            x="x",
            y="output",
            lines={"tanh network": (x[:, 0], before)},
            points={"sigmoid network": (x[::3, 0], after[::3])},
        ),
        figure.curves(
            "Their difference",
            x="x",
            y="difference, in units of 10⁻¹⁵",
            points={"sigmoid − tanh": (x[:, 0], 1e15 * difference)},
        ),
    )


@claim(
    "relu-absu-conversion",
    says="(z)₊ = (z + |z|)/2 and |z| = 2(z)₊ − z = (z)₊ + (−z)₊: a ReLU layer is a layer of absolute values with a "
    "linear bypass, a layer of absolute values is a ReLU layer of double width.",
    formula=r"(z)_+ = \tfrac12 (z + |z|), \quad |z| = 2 (z)_+ - z = (z)_+ + (-z)_+",
    sources=("sheet",),
)
def relu_absu_conversion(
    key,
    width: Annotated[int, Range(2, 128, log=True)] = 24,
    steps: Annotated[int, Range(0, 300)] = 100,
    exponent: Annotated[int, Range(1, 300)] = 100,
):
    """Identities on 10⁴ floats of sizes 10^±exponent; networks of three layers trained on half the digits."""
    rng = data.generator(key)
    z = rng.choice([-1.0, 1.0], 10_000) * 10.0 ** rng.uniform(-exponent, exponent, 10_000)
    hinge = np.maximum(z, 0.0)
    yield exactly(np.array_equal((z + np.abs(z)) / 2, hinge), True, "(z + |z|)/2 = (z)₊, bit by bit")
    yield exactly(np.array_equal(2 * hinge - z, np.abs(z)), True, "2(z)₊ − z = |z|, bit by bit")
    yield exactly(np.array_equal(hinge + np.maximum(-z, 0.0), np.abs(z)), True, "(z)₊ + (−z)₊ = |z|, bit by bit")

    images, labels, *_ = data.digits_split()
    x, y = jnp.asarray(images[:300]), jnp.asarray(labels[:300])

    def loss(net, x, y):
        return learning.cross_entropy(jax.vmap(net)(x), y).mean()

    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    for name, convert, form in (
        ("relu", networks.relu_to_absolute, "absolute values with a bypass"),
        ("absolute", networks.absolute_to_relu, "ReLU of double width"),
    ):
        net = networks.MLP((64, width, width, 10), name, bias_scale=0.1, key=key)
        if steps:
            net, _ = training.minimise(loss, net, optax.adam(3e-3), steps, x, y)
        other = convert(net)
        before, after = run(net, x), run(other, x)
        size = float(jnp.maximum(1.0, jnp.abs(before).max()))
        yield close(after, before, f"a trained {name} network as {form}", atol=1e-12 * size)
    yield exactly(other.widths, (64, 2 * width, 2 * width, 10), "widths of the ReLU form")

    t = np.linspace(-2, 2, 81)
    yield figure.curves(
        "Half the absolute value and half the line add up to the hinge, exactly",
        x="z",
        y="value",
        lines={"|z|/2": (t, np.abs(t) / 2), "z/2, the linear bypass": (t, t / 2), "(z)₊": (t, np.maximum(t, 0))},
        points={"their sum": (t[::5], (np.abs(t) / 2 + t / 2)[::5])},
    )
