import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import MLP
from leadline.networks.architectures.network_sums import add_networks, scale_network


def network(widths, seed, **options):
    return numpy_model(MLP, widths, "tanh", seed=seed, **options)


X = jnp.asarray(np.random.default_rng(1).normal(size=(6, 3)))


@pytest.mark.parametrize("biases", [(True, True), (False, False), (False, True), (True, False)])
@pytest.mark.parametrize("other", [(3, 4, 4, 2), (3, 1, 6, 2)])
def test_a_sum_is_one_wider_network(other, biases):
    a, b = network((3, 4, 4, 2), 0, bias=biases[0]), network(other, 1, bias=biases[1])
    both = add_networks(a, b)
    np.testing.assert_allclose(jax.vmap(both)(X), jax.vmap(a)(X) + jax.vmap(b)(X), rtol=1e-12, atol=1e-13)
    assert both.widths == (3, 4 + other[1], 4 + other[2], 2)


def test_a_multiple_is_a_network_of_the_same_width():
    a = network((3, 4, 2), 0)
    np.testing.assert_allclose(jax.vmap(scale_network(a, -2.5))(X), -2.5 * jax.vmap(a)(X), rtol=1e-12)


def test_what_has_no_sum_is_refused():
    with pytest.raises(ValueError, match="must agree"):
        add_networks(network((3, 4, 2), 0), network((3, 4, 4, 2), 0))
    with pytest.raises(ValueError, match="hidden layer"):
        add_networks(network((3, 2), 0), network((3, 2), 0))
    with pytest.raises(ValueError, match="linear output"):
        scale_network(network((3, 2, 2), 0, last_activation=True), 2.0)
