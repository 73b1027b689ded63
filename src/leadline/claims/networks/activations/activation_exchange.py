"""Exchanging one activation for another: tanh for the sigmoid, ReLU for the absolute value."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Int, at_most, claim, close, exactly
from leadline.networks.symmetry.conversions import absolute_to_relu, sigmoid_to_tanh, tanh_to_sigmoid
from leadline.presentation import figure


@claim(sources=("eth", "sheet", "penn"))
def tanh_sigmoid_network_conversion(
    key, hidden_layers: Int(1, 6) = 2, width: Int(2, 128, log=True) = 16, num_steps: Int(0, 500) = 200
):
    r"""tanh and sigmoid networks are interchangeable.

    Since tanh z = 2σ(2z) − 1, a tanh network is a sigmoid network of the same widths with W → 2W, b → 2b, and the next
    layer V → 2V, c → c − V1. Without an output bias the constant −V1 has nowhere to go.

    $$V \tanh(Wx + b) + c = 2V\,\sigma(2Wx + 2b) + (c - V\mathbf{1})$$

    Check: A tanh network trained on a wave with 60 points is converted, and then the same is tried without an output
    bias.
    """
    x = jnp.linspace(-2.0, 2.0, 60)[:, None]
    y = jnp.sin(3 * x[:, 0]) + 0.5 * x[:, 0]
    net = networks.MLP((1, *[width] * hidden_layers, 1), "tanh", init="lecun", bias_scale=0.5, key=key)

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x)[:, 0] - y) ** 2)

    if num_steps:
        net, _ = training.minimise(loss, net, optax.adam(0.01), num_steps, x, y)
    converted = tanh_to_sigmoid(net)
    yield exactly(converted.widths, net.widths, "widths of the converted network")
    yield exactly(converted.activation, "sigmoid", "activation of the converted network")
    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x)[:, 0])
    before, after = np.asarray(run(net, x)), np.asarray(run(converted, x))
    yield close(after, before, "outputs of the converted network", atol=1e-12)
    there, back = jax.tree.leaves(net.layers), jax.tree.leaves(sigmoid_to_tanh(converted).layers)
    change = max(float(jnp.abs(a - b).max()) for a, b in zip(there, back, strict=True))
    yield at_most(change, 1e-12, "largest change of a weight there and back")
    last, top = net.layers[-1], converted.layers[-1]
    forbidden = eqx.tree_at(lambda n: n.layers[-1].bias, converted, last.bias)
    error = np.asarray(run(forbidden, x)) - before
    yield close(error, last.weight.sum(), "error without an output bias of its own, against V1", atol=1e-12)
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
    lines, points = {"tanh network": (x[:, 0], before)}, {"sigmoid network": (x[::3, 0], after[::3])}
    difference = {"sigmoid − tanh": (x[:, 0], 1e15 * (after - before))}
    yield figure.beside(
        f"The two networks agree to {np.abs(after - before).max():.1g}",
        figure.curves("A tanh network and its sigmoid form", "x", "output", lines=lines, points=points),
        figure.curves("Their difference", "x", "difference, in units of 10⁻¹⁵", points=difference),
    )


@claim(sources=("sheet",))
def relu_absu_conversion(
    key, width: Int(2, 128, log=True) = 24, num_steps: Int(0, 300) = 100, exponent: Int(1, 300) = 100
):
    r"""ReLU and absolute-value layers convert.

    (z)₊ = (z + |z|)/2 and |z| = 2(z)₊ − z = (z)₊ + (−z)₊: a ReLU layer is a layer of absolute values with a linear
    bypass, and a layer of absolute values is a ReLU layer of double width.

    $$(z)_+ = \tfrac12 (z + |z|), \quad |z| = 2 (z)_+ - z = (z)_+ + (-z)_+$$

    Check: The identities are checked on 10⁴ floating-point numbers of very different sizes, large and small powers of
    10, and the conversions on networks of three layers trained on half the digits.
    """
    rng = data.generator(key)
    z = rng.choice([-1.0, 1.0], 10_000) * 10.0 ** rng.uniform(-exponent, exponent, 10_000)
    hinge = np.maximum(z, 0.0)
    yield exactly((z + np.abs(z)) / 2, hinge, "(z + |z|)/2, against (z)₊, bit by bit")
    yield exactly(2 * hinge - z, np.abs(z), "2(z)₊ − z, against |z|, bit by bit")
    yield exactly(hinge + np.maximum(-z, 0.0), np.abs(z), "(z)₊ + (−z)₊, against |z|, bit by bit")
    images, labels, *_ = data.digits_split()
    x, y = jnp.asarray(images[:300]), jnp.asarray(labels[:300])

    def loss(net, x, y):
        return learning.cross_entropy(jax.vmap(net)(x), y).mean()

    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    for name, convert, form in (
        ("relu", networks.relu_to_absolute, "absolute values with a bypass"),
        ("absolute", absolute_to_relu, "ReLU of double width"),
    ):
        net = networks.MLP((64, width, width, 10), name, bias_scale=0.1, key=key)
        if num_steps:
            net, _ = training.minimise(loss, net, optax.adam(3e-3), num_steps, x, y)
        other, before = convert(net), run(net, x)
        size = float(jnp.maximum(1.0, jnp.abs(before).max()))
        yield close(run(other, x), before, f"outputs of a trained {name} network as {form}", atol=1e-12 * size)
    yield exactly(other.widths, (64, 2 * width, 2 * width, 10), "widths of the ReLU form")
    t = np.linspace(-2, 2, 17)
    lines = {"|z|/2": (t, np.abs(t) / 2), "z/2, the linear bypass": (t, t / 2), "(z)₊": (t, np.maximum(t, 0))}
    title = "Half the absolute value and half the line add up to the hinge, exactly"
    yield figure.curves(title, "z", "value", lines=lines, points={"their sum": (t, np.abs(t) / 2 + t / 2)})
