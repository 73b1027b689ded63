"""Kernels read from ordinary networks, against the empirical tangent kernel and outputs of these very networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import infinite_width as iw, networks
from leadline.convolution import (
    ConvLayer,
    ConvNetwork,
    DenseLayer,
    DropoutLayer,
    GlobalPool,
    Parallel,
    PoolLayer,
    Residual,
    UpLayer,
    pyramid,
)
from leadline.infinite_width.layers.combinators import Identity, Scale
from leadline.infinite_width.layers.pooling import AvgPool, Flatten

KEY = jax.random.key(0)


def empirical(make, x, seeds):
    """Mean and standard error over seeds of f f' and of the tangent kernel of one output."""

    def one(key):
        params, rest = eqx.partition(make(key), eqx.is_inexact_array)
        f = lambda p, v: eqx.combine(p, rest)(v).ravel()[0]  # noqa: E731
        values = jax.vmap(lambda v: f(params, v))(x)
        rows = jax.vmap(lambda v: jnp.concatenate([g.ravel() for g in jax.tree.leaves(jax.grad(f)(params, v))]))(x)
        return jnp.outer(values, values), rows @ rows.T

    found = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=20))(jax.random.split(KEY, seeds))
    return [(np.mean(k, 0), np.std(k, 0) / seeds**0.5) for k in found]


def test_an_equinox_mlp_has_the_kernels_of_its_limit():
    make = lambda key: eqx.nn.MLP(3, 1, 64, 1, activation=jax.nn.relu, key=key)  # noqa: E731
    x = jax.random.normal(KEY, (3, 3))
    wide = iw.wide_kernel(make(KEY))
    for limit, (mean, error) in zip(wide.kernel_fn(x, get=("nngp", "ntk")), empirical(make, x, 300), strict=True):
        assert np.max(np.abs(limit - mean) / error) < 4.5


def test_a_convolutional_sequential_is_read_layer_by_layer():
    net = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(2, 64, 3, stride=2, padding=1, key=KEY),
            eqx.nn.Lambda(jnp.tanh),
            eqx.nn.AvgPool2d(2, 1),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Dropout(0.5, inference=True),
            eqx.nn.Linear(64 * 4, 1, use_bias=False, key=KEY),
        ]
    )
    wide = iw.wide_kernel(net)
    third = 3**-0.5
    first = iw.Conv(64, (3, 3), (2, 2), ((1, 1), (1, 1)), third, (3 * 18) ** -0.5, "standard")
    last = iw.Dense(1, third, None, "standard")
    assert wide.network == iw.serial(first, iw.Tanh(), AvgPool((2, 2), (1, 1)), Flatten(), Identity(), last)
    assert "Hermite" in wide.report[1]
    x = jax.random.normal(KEY, (2, 2, 5, 6))
    assert wide.kernel_fn(x, get="nngp").shape == (2, 2)


def test_our_own_perceptron_is_read_in_both_parametrisations():
    net = networks.MLP((3, 128, 1), "gelu", gain=1.2, init="glorot", bias_scale=0.3, key=KEY)
    first = 1.2 * (2 / (3 + 128) * 3) ** 0.5
    last = 1.2 * (2 / (128 + 1) * 128) ** 0.5
    assert iw.wide_kernel(net, init="glorot").network == iw.serial(
        Flatten(), iw.Dense(128, first, 0.3, "standard"), iw.Gelu(), iw.Dense(1, last, 0.3, "standard")
    )
    net = networks.MLP((3, 128, 1), "gelu", gain=1.2, bias_scale=0.3, parametrisation="ntk", key=KEY)
    assert iw.wide_kernel(net).network == iw.dense_stack(1, "gelu", 1.2, 0.3, width=128)


def test_a_residual_network_is_read_where_a_limit_exists():
    net = networks.ResidualNetwork(3, 64, 2, 1, "relu", two_matrices=True, init="lecun", key=KEY)
    branch = iw.Dense(64, 1.0, 0.0, "standard"), iw.Relu(), iw.Dense(64, 1.0, None, "standard"), Scale(2**-0.5)
    assert iw.wide_kernel(net, init="lecun").network == iw.serial(
        Flatten(),
        iw.Dense(64, 1.0, 0.0, "standard"),
        iw.residual(*branch),
        iw.residual(*branch),
        iw.Dense(1, 1.0, 0.0, "standard"),
    )
    with pytest.raises(ValueError, match="two_matrices=True"):
        iw.wide_kernel(networks.ResidualNetwork(3, 8, 2, 1, "relu", key=KEY))


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (lambda: eqx.nn.BatchNorm(4, axis_name="batch", mode="batch"), "BatchNorm"),
        (lambda: eqx.nn.Dropout(0.5), "Dropout"),
        (lambda: eqx.nn.MaxPool2d(2), "MaxPool2d"),
        (lambda: eqx.nn.GRUCell(4, 4, key=KEY), "GRUCell"),
        (lambda: eqx.nn.MultiheadAttention(2, 4, key=KEY), "MultiheadAttention"),
        (lambda: eqx.nn.Lambda(jax.nn.softmax), "Layer 2 .*softmax"),
    ],
)
def test_a_layer_without_a_limit_is_refused_by_name(layer, name):
    with pytest.raises(ValueError, match=name):
        iw.wide_kernel(eqx.nn.Sequential([eqx.nn.Linear(4, 4, key=KEY), layer()]))


def test_a_conv_network_is_read_as_layers_composed_by_hand():
    layers = [
        ConvLayer(32, 3, padding="same"),
        PoolLayer(2, kind="mean"),
        ConvLayer(64, 5, stride=2, padding=1, bias=False),
        GlobalPool("mean"),
        DenseLayer(3),
    ]
    net = ConvNetwork(layers, (2, 12, 12), "tanh", key=KEY)
    by_hand = iw.serial(
        iw.Conv(32, (3, 3), (1, 1), "SAME", 2**0.5, 0.0, "standard"),
        iw.Tanh(),
        AvgPool((2, 2), (2, 2)),
        iw.Conv(64, (5, 5), (2, 2), ((1, 1), (1, 1)), 2**0.5, None, "standard"),
        iw.Tanh(),
        iw.GlobalAvgPool(),
        iw.Dense(3, 2**0.5, 0.0, "standard"),
    )
    wide = iw.wide_kernel(net)
    assert wide.network == by_hand
    x = jax.random.normal(KEY, (2, 2, 12, 12))
    np.testing.assert_allclose(wide.kernel_fn(x), by_hand.kernel_fn(jnp.moveaxis(x, 1, -1)), rtol=1e-6)


def test_blocks_of_a_conv_network_are_sums_and_means_of_branches():
    layers = [
        ConvLayer(8, 3, padding="same", wrap=True),
        Residual([ConvLayer(8, 3, padding="same"), ConvLayer(8, 3, padding="same")], linear=True),
        Residual([ConvLayer(16, 3, stride=2, padding="same", bias=False)]),
        Parallel([(), [ConvLayer(4, 1)]]),
        DenseLayer(1),
    ]
    net = ConvNetwork(layers, (1, 8), init="lecun", channels_last=True, key=KEY)

    def conv(width, window, stride=1, padding="SAME", bias=0.0):
        return iw.Conv(width, (window,), (stride,), padding, 1.0, bias, "standard")

    def summed(first, second):
        return iw.serial(iw.FanOut(2), iw.parallel(first, second), iw.FanInSum())

    beside = iw.parallel(iw.serial(Identity()), iw.serial(conv(4, 1), iw.Relu()))
    by_hand = iw.serial(
        conv(8, 3, padding="CIRCULAR"),
        iw.Relu(),
        summed(iw.serial(Identity()), iw.serial(conv(8, 3), iw.Relu(), conv(8, 3))),
        summed(iw.serial(conv(16, 1, 2, ((0, 0),), None)), iw.serial(conv(16, 3, 2, ((1, 1),), None))),
        iw.Relu(),
        iw.serial(iw.FanOut(2), beside, iw.FanInConcat()),
        Flatten(),
        iw.Dense(1, 1.0, 0.0, "standard"),
    )
    wide = iw.wide_kernel(net, init="lecun")
    x = jax.random.normal(KEY, (3, 8))
    np.testing.assert_allclose(wide.kernel_fn(x), by_hand.kernel_fn(x[..., None]), rtol=1e-6)


def test_a_conv_network_has_the_kernels_of_its_limit():
    layers = [ConvLayer(64, 3, padding="same"), GlobalPool("mean"), DenseLayer(1)]
    make = lambda key: ConvNetwork(layers, (2, 6), dtype=float, key=key)  # noqa: E731
    x = jax.random.normal(KEY, (3, 2, 6), float)
    wide = iw.wide_kernel(make(KEY))
    for limit, (mean, error) in zip(wide.kernel_fn(x, get=("nngp", "ntk")), empirical(make, x, 300), strict=True):
        assert np.max(np.abs(limit - mean) / error) < 4.5


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (pyramid((2, 4), 3), "PoolLayer.*max pooling"),
        ([ConvLayer(2, 3, groups=2)], "ConvLayer.*groups"),
        ([ConvLayer(2, 1), Residual([ConvLayer(2, 1)]), ConvLayer(1, 1)], "Residual.*not Gaussian"),
        ([ConvLayer(2, 3, normalisation="layer"), ConvLayer(2, 1)], "normalisation layer"),
        ([PoolLayer(2, kind="mean"), UpLayer(2), ConvLayer(2, 1)], "Layer 2 .UpLayer"),
        ([DropoutLayer(0.5), ConvLayer(2, 3)], "DropoutLayer.*inference"),
    ],
)
def test_a_layer_of_a_conv_network_without_a_limit_is_refused_by_name(layers, told):
    net = eqx.filter_eval_shape(ConvNetwork, layers, (2, 8, 8), key=KEY)  # without drawing weights
    with pytest.raises(ValueError, match=told):
        iw.wide_kernel(net)
