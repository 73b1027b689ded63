import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks

KEY = jax.random.key(0)
X = np.random.default_rng(0).normal(size=3)


def test_the_forward_pass_is_that_of_numpy():
    net = networks.MLP((3, 5, 4, 2), "tanh", bias_scale=0.5, key=KEY)
    h = X
    for layer in net.layers[:-1]:
        h = np.tanh(np.asarray(layer.weight) @ h + np.asarray(layer.bias))
    expected = np.asarray(net.layers[-1].weight) @ h + np.asarray(net.layers[-1].bias)
    np.testing.assert_allclose(net(jnp.asarray(X)), expected, atol=1e-14)


def test_the_trace_holds_every_layer():
    net = networks.MLP((3, 5, 4), "relu", last_activation=True, key=KEY)
    pre, post = net.trace(jnp.asarray(X))
    np.testing.assert_array_equal(post[0], X)
    for z, h in zip(pre, post[1:], strict=True):
        np.testing.assert_array_equal(h, jax.nn.relu(z))
    assert net.widths == (3, 5, 4)


def test_a_relu_network_without_biases_is_homogeneous():
    net = networks.MLP((3, 5, 4, 2), bias=False, key=KEY)
    np.testing.assert_allclose(net(7 * jnp.asarray(X)), 7 * net(jnp.asarray(X)), rtol=1e-13)
    assert all(layer.bias is None for layer in net.layers)


def test_both_parametrisations_apply_the_matrices_that_affine_returns():
    net = networks.MLP((3, 5, 4), "tanh", parametrisation="ntk", gain=2.0, bias_scale=0.3, key=KEY)
    (weight, bias), (last, shift) = net.affine()
    np.testing.assert_allclose(weight, net.layers[0].weight * 2 / 3**0.5, rtol=1e-14)
    np.testing.assert_allclose(net(jnp.asarray(X)), last @ jnp.tanh(weight @ jnp.asarray(X) + bias) + shift, rtol=1e-12)


def test_the_spread_of_weights_and_biases_is_as_asked():
    net = networks.MLP((400, 500), init="lecun", gain=3.0, bias_scale=0.5, key=KEY)
    assert float(net.layers[0].weight.std()) * 20 == pytest.approx(3, rel=0.02)
    assert float(net.layers[0].bias.std()) == pytest.approx(0.5, rel=0.15)
    assert not networks.MLP((3, 5), key=KEY).layers[0].bias.any()


def test_dtype_and_inputs_of_any_shape():
    net = networks.MLP((4, 3), dtype=jnp.float32, key=KEY)
    assert net(jnp.ones((2, 2), jnp.float32)).dtype == jnp.float32


def test_bad_widths_and_names_are_refused():
    with pytest.raises(ValueError, match="at least an input and an output"):
        networks.MLP((3,), key=KEY)
    with pytest.raises(ValueError, match="'rellu'"):
        networks.MLP((3, 2), "rellu", key=KEY)
    with pytest.raises(ValueError, match="'hee'"):
        networks.MLP((3, 2), init="hee", key=KEY)
