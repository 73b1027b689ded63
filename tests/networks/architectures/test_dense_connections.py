import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import DenseNetwork
from leadline.networks.architectures.dense_connections import dense_weight_count

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def net():
    return numpy_model(DenseNetwork, 3, 2, 3, 1, "tanh")


def test_it_reads_all_earlier_layers_newest_first(net):
    x = np.array([0.2, -0.4, 1.0])
    states = [x]
    for layer in net.layers:
        states.append(np.tanh(np.asarray(layer.weight) @ np.concatenate(states[::-1]) + np.asarray(layer.bias)))
    expected = np.asarray(net.last.weight) @ np.concatenate(states[::-1]) + np.asarray(net.last.bias)
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, rtol=1e-12)


def test_without_skips_it_is_an_mlp(net):
    chain = net.without_skips()
    x = jnp.array([0.2, -0.4, 1.0])
    h = x
    for layer in net.layers:
        h = jnp.tanh(layer.weight[:, : len(h)] @ h + layer.bias)
    np.testing.assert_allclose(chain(x), net.last.weight[:, :2] @ h + net.last.bias, rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_weight_count_is_what_is_stored(depth):
    net = numpy_model(DenseNetwork, 3, 2, depth, 1)
    assert sum(layer.weight.size for layer in net.layers) == dense_weight_count(3, 2, depth)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="growth 0"):
        DenseNetwork(3, 0, 2, 1, key=KEY)
