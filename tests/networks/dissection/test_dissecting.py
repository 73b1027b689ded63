"""Networks of known structure, taken apart: layers, costs, chains, and the values and gradients inside."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences
from leadline.convolution import ConvNetwork, pyramid
from leadline.networks import MLP, ResidualNetwork
from leadline.networks.dissection import dissect

KEY = jax.random.key(0)


def taken(net, shape, **settings):
    params, rest = eqx.partition(net, eqx.is_inexact_array)

    def apply(p, x):
        return jax.vmap(eqx.combine(p, rest))(x)

    x = jax.random.normal(KEY, (3, *shape))
    return dissect(apply, params, x), apply, params, x


def test_a_dense_network_is_a_chain_with_the_matrices_it_applies():
    net = MLP((4, 3, 2), "tanh", parametrisation="ntk", gain=1.5, bias_scale=0.3, key=KEY)
    found, apply, params, x = taken(net, (2, 2))
    assert [layer.name for layer in found.layers] == ["layers[0].weight", "layers[1].weight"]
    assert [layer.parameters for layer in found.layers] == [15, 8]
    assert found.in_layers == found.parameters == 23
    assert [layer.flops for layer in found.layers] == [24, 12]
    for step, (weight, bias) in zip(found.chain.affine, net.affine(), strict=True):
        np.testing.assert_allclose(step.weight, weight, rtol=1e-6)
        np.testing.assert_allclose(step.bias, bias, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda one: found.chain(one)))(x), jax.jit(apply)(params, x), rtol=1e-6)
    assert found.chain.activations[0].function.name == "tanh"
    assert found.chain.activations[0].lipschitz == 1
    assert found.chain.dense
    doubled = found.chain_at(jax.tree.map(lambda leaf: 2 * leaf, params))
    np.testing.assert_allclose(doubled.affine[1].weight, 2 * found.chain.affine[1].weight)


def test_values_are_pre_activations_and_gradients_those_of_each_rows_loss():
    net = MLP((4, 5, 2), "tanh", key=KEY)
    found, _, params, x = taken(net, (4,))
    values = found.values(params, x)
    for row, example in enumerate(x):
        for z, expected in zip(values, net.trace(example).pre, strict=True):
            np.testing.assert_allclose(z[row], expected, rtol=1e-6)
    signals = found.signals(params, x, jnp.zeros((3, 2)), lambda f, y: jnp.sum((f - y) ** 2, 1))
    out = 2 * values[-1]
    np.testing.assert_allclose(signals.gradients[1], out, rtol=1e-6)
    back = (out @ net.layers[1].weight) * (1 - jnp.tanh(values[0]) ** 2)
    np.testing.assert_allclose(signals.gradients[0], back, rtol=1e-5)


def test_a_convolutional_network_is_a_chain_with_pooling():
    net = ConvNetwork(pyramid((2, 4), 10), (1, 8, 8), channels_last=True, dtype=float, key=KEY)
    found, apply, params, x = taken(net, (8, 8))
    assert [layer.kind for layer in found.layers] == ["conv", "conv", "dense"]
    first = found.layers[0]
    assert (first.kernel, first.stride, first.padding, first.output_shape) == (
        (3, 3),
        (1, 1),
        ((1, 1), (1, 1)),
        (2, 8, 8),
    )
    assert first.flops == 2 * 9 * 2 * 64
    assert first.flops_inside == 2 * 2 * 22**2
    assert first.unit_of.tolist() == [0, 1] * 64  # channels are the last axis
    kinds = [step.kind for step in found.chain if step.kind != "reshape"]
    assert kinds == ["affine", "activation", "pool"] * 2 + ["affine"]
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda one: found.chain(one)))(x), jax.jit(apply)(params, x), rtol=1e-9)
    conv = next(step for step in found.chain if step.is_convolution)
    assert conv.weight is None
    v = jax.random.normal(KEY, conv.in_shape)
    matrix = conv.matrix()
    np.testing.assert_allclose(matrix @ v.ravel() + conv.bias, jax.jit(lambda v: conv(v))(v).ravel(), atol=1e-12)
    u = jax.random.normal(KEY, conv.out_shape)
    np.testing.assert_allclose(matrix.T @ u.ravel(), jax.jit(conv.transposed)(u).ravel(), atol=1e-12)
    with pytest.raises(ValueError, match="no dense matrix of at most 5 entries"):
        conv.matrix(5)


class Tied(eqx.Module):
    weight: jax.Array
    idle: jax.Array

    def __call__(self, x):
        return self.weight @ jnp.tanh(self.weight @ x)


class Attending(eqx.Module):
    attention: eqx.nn.MultiheadAttention

    def __call__(self, x):
        return self.attention(x, x, x).mean(0)


class Normalised(eqx.Module):
    first: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __call__(self, x):
        return self.norm(self.first(x))


@pytest.mark.parametrize(
    ("net", "shape", "why", "layers"),
    [
        (ResidualNetwork(3, 4, 2, 2, "tanh", key=KEY), (3,), "skip connection", 4),
        (Tied(jnp.eye(3), jnp.ones(5)), (3,), "weight is used twice", 2),
        (Attending(eqx.nn.MultiheadAttention(2, 4, key=KEY)), (3, 4), "attention", 4),
        (Normalised(eqx.nn.Linear(4, 3, key=KEY), eqx.nn.LayerNorm(3)), (4,), "layer normalisation", 1),
    ],
    ids=["residual", "tied", "attention", "normalised"],
)
def test_where_there_is_no_chain_the_reason_is_said_and_the_layers_are_still_found(net, shape, why, layers):
    found, *_ = taken(net, shape)
    assert found.chain is None
    assert why in found.why_no_chain
    assert len(found.layers) == layers
    idle = sum(leaf.size for leaf in [getattr(net, "idle", jnp.ones(0))])
    assert found.in_layers + found.in_others + idle == found.parameters
    assert found.unused == (("idle",) if idle else ())


def test_layers_of_a_loop_are_found_one_by_one():
    found, *_ = taken(ResidualNetwork(3, 4, 2, 2, "tanh", key=KEY), (3,))
    assert [layer.name for layer in found.layers] == [
        "first.weight",
        "blocks.weight[0]",
        "blocks.weight[1]",
        "last.weight",
    ]
    assert found.network.loops == 1


def test_a_plain_function_with_input_scaling_and_pooling():
    params = {"w": jax.random.normal(KEY, (3, 8)), "g": jnp.array(0.5)}

    def apply(p, x):
        x = (x - 1.0) / jnp.arange(1.0, 9.0)
        z = 1 / (1 + jnp.exp(-(x @ p["w"].T)))
        return z.reshape(len(x), 1, 3).mean(2)

    x = jax.random.normal(KEY, (5, 8))
    found = dissect(apply, params, x)
    kinds = [step.kind for step in found.chain if step.kind != "reshape"]
    assert kinds == ["affine", "activation", "pool"]
    affine, activation, pool = (step for step in found.chain if step.kind != "reshape")
    np.testing.assert_allclose(affine.weight, params["w"] / np.arange(1.0, 9.0), rtol=1e-9)
    assert activation.function.name == "sigmoid"
    assert activation.lipschitz == 0.25
    assert pool.lipschitz == pytest.approx(3**-0.5)
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda one: found.chain(one)))(x), jax.jit(apply)(params, x), rtol=1e-9)
    assert found.unused == ("g",)


def test_bad_input_is_said():
    with pytest.raises(ValueError, match="no arrays"):
        dissect(lambda p, x: x, {}, jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="one example per row"):
        dissect(lambda p, x: x, jnp.ones(2), jnp.ones(()))


def test_a_cell_that_is_scanned_is_one_layer_with_a_time_axis():
    cell = sequences.GRU(2, 3, key=KEY)
    found, apply, params, x = taken(sequences.SequenceNetwork(cell, 4, reading="last", key=KEY), (6, 2))
    names = {layer.name: (layer.fan_in, layer.fan_out, layer.positions) for layer in found.layers}
    # The first step starts from zeros, which no weight needs to meet.
    assert names == {"cell.weight_ih": (2, 9, 6), "cell.weight_hh": (3, 9, 5), "head.weight": (3, 4, 1)}
    signals = found.signals(params, x, jnp.zeros((3, 4)), lambda out, y: jnp.sum((out - y) ** 2, axis=-1))
    hidden = [layer.name for layer in found.layers].index("cell.weight_hh")
    states = jax.vmap(lambda row: sequences.run(cell, row).states)(x)[:, :-1]
    np.testing.assert_allclose(signals.values[hidden].reshape(3, 5, 9), states @ cell.weight_hh.T, rtol=1e-4, atol=1e-5)
    by_weight = jnp.einsum("ntg,ntm->gm", signals.gradients[hidden].reshape(3, 5, 9), states)
    gradient = jax.grad(lambda p: jnp.sum(apply(p, x) ** 2))(params)
    np.testing.assert_allclose(by_weight, gradient.cell.weight_hh, rtol=1e-3, atol=1e-4)
