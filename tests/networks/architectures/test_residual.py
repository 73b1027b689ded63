import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import ResidualLayer, ResidualNetwork
from leadline.networks.architectures.residual import drawn_linear

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def net():
    return numpy_model(ResidualNetwork, 3, 4, 5, 2, "sigmoid")


def test_the_network_is_the_recursion_of_its_definition(net):
    x = np.array([0.3, -1.2, 2.0])

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    state = np.asarray(net.first.weight) @ x + np.asarray(net.first.bias)
    for W, b in zip(np.asarray(net.blocks.weight), np.asarray(net.blocks.bias), strict=True):
        state = state + (sigmoid(W @ state + b) - 0.5) / np.sqrt(5)
    expected = np.asarray(net.last.weight) @ state + np.asarray(net.last.bias)
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, rtol=1e-12)
    np.testing.assert_allclose(net.states(jnp.asarray(x))[-1], state, rtol=1e-12)


def test_block_jacobians_multiply_to_the_jacobian_of_the_stack(net):
    x = jnp.array([0.3, -1.2, 2.0])
    product = net.first.weight
    for factor in net.block_jacobians(x):
        product = factor @ product
    np.testing.assert_allclose(jax.jacobian(lambda x: net.states(x)[-1])(x), product, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("options", [{"two_matrices": True}, {"projected": True}, {"skip": False}, {"scale": 0.3}])
def test_a_layers_jacobian_is_that_of_automatic_differentiation(options):
    layer = numpy_model(ResidualLayer, 3, 3, "tanh", **options)
    x = jnp.array([0.5, -0.1, 1.0])
    np.testing.assert_allclose(layer.jacobian(x), jax.jacobian(layer)(x), rtol=1e-12, atol=1e-14)


def test_blocks_can_be_taken_out_of_the_stack(net):
    states = net.states(jnp.ones(3))
    np.testing.assert_allclose(net.block(2)(states[2]), states[3], rtol=1e-12)
    assert net.depth == 5


def test_it_keeps_the_dtype_and_flattens_the_input():
    net = numpy_model(ResidualNetwork, 4, 3, 2, 2, dtype=jnp.float32)
    assert net(jnp.ones((2, 2), jnp.float32)).dtype == jnp.float32


def test_unequal_dimensions_get_a_projection():
    layer = ResidualLayer(3, 5, init="zeros", key=KEY)
    x = jnp.array([1.0, 2.0, 3.0])
    assert (layer(x) == layer.projection @ x).all()


def test_without_skip_the_branch_scale_is_one():
    assert numpy_model(ResidualNetwork, 3, 4, 9, 2, skip=False).blocks.scale == 1.0
    assert numpy_model(ResidualNetwork, 3, 4, 9, 2).blocks.scale == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ResidualLayer(0, 3, key=KEY), "positive"),
        (lambda: ResidualLayer(2, 3, projected=False, key=KEY), "no projection"),
        (lambda: ResidualNetwork(3, 4, 0, 2, key=KEY), "depth 0"),
        (lambda: ResidualLayer(3, 3, "cube", key=KEY), "cube"),
    ],
)
def test_bad_shapes_are_refused_in_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_drawn_linear_is_an_ordinary_equinox_layer():
    layer = drawn_linear(3, 2, "zeros", jnp.float32, key=KEY)
    assert layer.weight.dtype == jnp.float32
    assert layer(jnp.ones(3, jnp.float32)).tolist() == [0.0, 0.0]
    assert eqx.is_array(layer.bias)
