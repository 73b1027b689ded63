"""The last layer's Gram matrix, its spectrum, and its limit at infinite width."""

import jax
import numpy as np
import pytest
from scipy import integrate

from leadline import as_apply, networks, tangent
from leadline.tangent.last_layer import last_layer_features

X = np.random.default_rng(0).standard_normal((4, 3))


def test_the_gram_matrix_of_a_two_layer_network_is_that_of_its_head():
    net = tangent.lecun_two_layer(3, 6, "tanh", parametrisation="ntk", key=jax.random.key(0))
    features = np.tanh(X @ np.asarray(net.weight).T) / 6**0.5
    np.testing.assert_allclose(tangent.last_layer_gram(net, X), features @ features.T, rtol=1e-12)


@pytest.mark.parametrize("form", ["standard", "ntk"])
def test_the_head_of_a_deep_network_counts_its_bias(form):
    net = networks.MLP((3, 5, 4, 1), "tanh", parametrisation=form, bias_scale=0.3, key=jax.random.key(1))
    J = np.asarray(networks.parameter_jacobian(*as_apply(net), X))[:, -5:]
    np.testing.assert_allclose(tangent.last_layer_gram(net, X), J @ J.T, rtol=1e-12)


def test_the_spectrum_keeps_small_eigenvalues():
    features = np.diag([1.0, 1e-7, 1e-4]) @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    found = tangent.feature_spectrum(features)
    np.testing.assert_allclose(found.eigenvalues, [1e-14, 1e-8, 1.0], rtol=1e-6)
    assert found.rank == 3
    assert found.in_doubt


def test_with_fewer_units_than_points_eigenvalues_are_zero():
    found = tangent.feature_spectrum(np.ones((3, 1)))
    np.testing.assert_allclose(found.eigenvalues, [0.0, 0.0, 3.0], atol=1e-14)
    assert found.rank == 1


def test_the_limit_is_the_gaussian_integral():
    x = np.array([[1.0, 0.0], [0.6, 1.2]])
    limit = tangent.last_layer_limit(x, "sigmoid")

    def integrand(b, a):
        h = x @ np.array([a, b])
        return np.prod(1 / (1 + np.exp(-h))) * np.exp(-(a**2 + b**2) / 2) / (2 * np.pi)

    expected, _ = integrate.dblquad(integrand, -8, 8, -8, 8, epsabs=1e-9)
    assert limit[0, 1] == pytest.approx(expected, abs=1e-8)
    assert limit[0, 0] == pytest.approx(
        float(networks.gaussian_expectation(lambda z: networks.activation("sigmoid")(z) ** 2, 1.0)), abs=1e-9
    )


def test_a_network_without_a_linear_head_is_refused():
    with pytest.raises(ValueError, match="linear head of one output"):
        last_layer_features(networks.MLP((3, 5, 2), key=jax.random.key(0)), X)
