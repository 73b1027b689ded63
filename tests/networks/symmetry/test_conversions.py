import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks
from leadline.networks.symmetry.conversions import absolute_to_relu, sigmoid_to_tanh, tanh_to_sigmoid

X = jnp.asarray(np.random.default_rng(0).normal(size=(20, 3)))
CASES = [
    ("tanh", tanh_to_sigmoid),
    ("sigmoid", sigmoid_to_tanh),
    ("relu", networks.relu_to_absolute),
    ("absolute", absolute_to_relu),
]


@pytest.mark.parametrize(("activation", "convert"), CASES)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"parametrisation": "ntk", "bias_scale": 0.5}])
def test_a_converted_network_is_the_same_function(activation, convert, options):
    net = networks.MLP((3, 5, 4, 2), activation, **({"bias_scale": 1.0} | options), key=jax.random.key(1))
    np.testing.assert_allclose(jax.vmap(convert(net))(X), jax.vmap(net)(X), atol=1e-12)


def test_there_and_back_gives_the_same_weights():
    net = networks.MLP((3, 5, 4, 2), "tanh", bias_scale=1.0, key=jax.random.key(1))
    back = sigmoid_to_tanh(tanh_to_sigmoid(net))
    for old, new in zip(net.layers, back.layers, strict=True):
        np.testing.assert_allclose(new.weight, old.weight, atol=1e-14)
        np.testing.assert_allclose(new.bias, old.bias, atol=1e-14)


def test_widths_stay_or_double():
    net = networks.MLP((3, 5, 4, 2), "absolute", key=jax.random.key(1))
    assert absolute_to_relu(net).widths == (3, 10, 8, 2)
    assert sigmoid_to_tanh(networks.MLP((3, 5, 4), "sigmoid", key=jax.random.key(1))).widths == (3, 5, 4)


@pytest.mark.parametrize(("activation", "convert"), CASES)
def test_the_wrong_activation_is_refused(activation, convert):
    with pytest.raises(ValueError, match="needs"):
        convert(networks.MLP((3, 5, 4), "sin", key=jax.random.key(0)))
    with pytest.raises(ValueError, match="linear output"):
        convert(networks.MLP((3, 5, 4), activation, last_activation=True, key=jax.random.key(0)))


def test_a_network_is_rebuilt_from_its_affine_maps():
    net = networks.MLP((3, 5, 4), "swish", bias_scale=1.0, last_activation=True, key=jax.random.key(0))
    again = networks.mlp_from_affine(net.affine(), "swish", last_activation=True)
    np.testing.assert_array_equal(jax.vmap(again)(X), jax.vmap(net)(X))
    with pytest.raises(ValueError, match="every layer one, or none"):
        networks.mlp_from_affine([(jnp.eye(2), None), (jnp.eye(2), jnp.zeros(2))], "relu")
