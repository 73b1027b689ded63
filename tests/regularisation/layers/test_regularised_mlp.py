"""The network with dropout and a normalisation, against Flax layer by layer, and as `study` and `as_apply` take it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import leadline
from leadline.networks import MLP
from leadline.regularisation import RegularisedMLP

KEY = jax.random.key(0)
X = jnp.asarray(np.random.default_rng(0).normal(size=(9, 5)))


def made(widths=(5, 8, 4, 3), **options):
    return eqx.nn.make_with_state(RegularisedMLP)(widths, "tanh", key=KEY, **options)


def trained(net, state, x=X, key=KEY):
    run = jax.vmap(lambda x, s, k: net(x, s, key=k), axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
    return run(x, state, jax.random.split(key, len(x)))


class OfFlax(nnx.Module):
    """The same network in Flax."""

    def __init__(self, net, kind, order):
        self.order, self.layers, self.norms = order, nnx.List([]), nnx.List([])
        options = {"epsilon": 1e-5, "param_dtype": float, "rngs": nnx.Rngs(0)}
        for layer in net.dense.layers:
            linear = nnx.Linear(layer.in_features, layer.out_features, param_dtype=float, rngs=nnx.Rngs(0))
            linear.kernel[...], linear.bias[...] = layer.weight.T, layer.bias
            self.layers.append(linear)
        for width in net.widths[1:-1]:
            make = {"batch": nnx.BatchNorm, "layer": nnx.LayerNorm, "rms": nnx.RMSNorm}
            norm = nnx.GroupNorm(width, 2, **options) if kind == "group" else make[kind](width, **options)
            self.norms.append(norm)

    def __call__(self, x):
        for linear, norm in zip(self.layers[:-1], self.norms, strict=True):
            x = jnp.tanh(norm(linear(x))) if self.order == "before" else norm(jnp.tanh(linear(x)))
        return self.layers[-1](x)


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("kind", ["batch", "layer", "rms", "group"])
def test_outputs_and_gradients_are_those_of_the_same_network_in_flax(kind, order):
    net, state = made(normalisation=kind, order=order, groups=2)
    theirs = OfFlax(net, kind, order)
    np.testing.assert_allclose(trained(net, state)[0], theirs(X), rtol=1e-6, atol=1e-9)

    def loss(net):
        return jnp.sum(jnp.sin(trained(net, state)[0]))

    ours = eqx.filter_grad(loss)(net)
    slopes = nnx.grad(lambda module: jnp.sum(jnp.sin(module(X))))(theirs)
    for index, layer in enumerate(ours.dense.layers):
        np.testing.assert_allclose(layer.weight.T, slopes["layers"][index]["kernel"][...], rtol=1e-6, atol=1e-9)


def test_without_dropout_and_normalisation_it_is_the_plain_network():
    net, state = made()
    plain = MLP((5, 8, 4, 3), "tanh", key=KEY)
    np.testing.assert_array_equal(trained(net, state)[0], jax.vmap(plain)(X))
    scaled, _ = made(parametrisation="ntk", gain=1.5)
    np.testing.assert_array_equal(
        trained(scaled, state)[0], jax.vmap(MLP((5, 8, 4, 3), "tanh", parametrisation="ntk", gain=1.5, key=KEY))(X)
    )


def test_one_rate_is_for_the_hidden_units_and_several_begin_with_the_inputs():
    assert [layer.p for layer in made(dropout=0.5)[0].dropouts] == [0.0, 0.5, 0.5]
    assert [layer.p for layer in made(dropout=(0.2, 0.5, 0.4))[0].dropouts] == [0.2, 0.5, 0.4]


def test_dropout_of_a_linear_network_has_the_network_in_use_as_its_mean():
    net, state = eqx.nn.make_with_state(RegularisedMLP)((5, 8, 2), "identity", dropout=(0.2, 0.4), key=KEY)
    draws = jax.vmap(lambda key: net(X[0], state, key=key)[0])(jax.random.split(KEY, 20_000))
    used = eqx.nn.inference_mode(net)(X[0], state)[0]
    assert np.abs(np.asarray((draws.mean(axis=0) - used) / (draws.std(axis=0) / np.sqrt(20_000)))).max() < 4


def test_as_apply_takes_it_in_use():
    net, state = made(normalisation="batch", dropout=0.5)
    _, state = trained(net, state)
    apply, params = leadline.as_apply((net, state))
    used = eqx.nn.inference_mode(net)
    np.testing.assert_allclose(apply(params, X), [used(x, state)[0] for x in X], rtol=1e-12)
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == 48 + 36 + 15 + 2 * (8 + 4)


def test_use_before_any_batch_names_the_layer():
    net, state = made(normalisation="batch")
    with pytest.raises(ValueError, match=r"The layer normalisations\[0\] of RegularisedMLP has seen no batch"):
        eqx.nn.inference_mode(net)(X[0], state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropout": (0.2, 0.5)}, "2 dropout rates for 3 layers"),
        ({"dropout": 1.0}, "keeps nothing"),
        ({"normalisation": "instance"}, "over space"),
        ({"normalisation": "group", "groups": 3}, "8 channels for 3 groups"),
    ],
)
def test_bad_options_are_told_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        made(**options)
