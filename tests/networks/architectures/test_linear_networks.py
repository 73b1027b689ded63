import jax
import numpy as np
import pytest

from leadline.networks import MLP, linear_network
from leadline.networks.architectures.linear_networks import eckart_young_error, product_matrix

MATRIX = np.random.default_rng(0).normal(size=(4, 5))


@pytest.mark.parametrize("widths", [(5, 4), (5, 2, 4), (5, 6, 3, 7, 4), (5, 1, 4)])
def test_the_product_is_the_truncated_decomposition(widths):
    u, s, v = np.linalg.svd(MATRIX, full_matrices=False)
    r = min(widths)
    product = np.asarray(product_matrix(linear_network(MATRIX, widths)))
    np.testing.assert_allclose(product, (u[:, :r] * s[:r]) @ v[:r], atol=1e-12)
    assert np.linalg.norm(product - MATRIX) == pytest.approx(eckart_young_error(MATRIX, r), abs=1e-12)


def test_the_layers_are_balanced():
    net = linear_network(MATRIX, (5, 3, 3, 4))
    first, second = (np.asarray(layer.weight) for layer in net.layers[:2])
    np.testing.assert_allclose(second.T @ second, first @ first.T, atol=1e-12)


def test_what_is_not_linear_or_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="identity"):
        product_matrix(MLP((2, 2, 2), key=jax.random.key(0)))
    with pytest.raises(ValueError, match="begin with 5"):
        linear_network(MATRIX, (4, 5))
    with pytest.raises(ValueError, match="rank -1"):
        eckart_young_error(MATRIX, -1)
