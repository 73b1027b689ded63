import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks

X = np.random.default_rng(0).normal(size=(50, 3))


def planted(activation):
    net = networks.MLP((3, 5, 4, 2), activation, key=jax.random.key(0))
    return eqx.tree_at(lambda n: n.layers[1].bias, net, net.layers[1].bias.at[jnp.array([1, 3])].set(-1e3))


def test_planted_dead_units_are_found_and_no_others():
    first, second = networks.unit_activity(planted("relu"), X)
    assert np.flatnonzero(second.dead).tolist() == [1, 3]
    assert not first.dead.any()
    assert (second.zeros[jnp.array([1, 3])] == 1).all()


def test_leaky_units_are_never_dead():
    assert not any(layer.dead.any() for layer in networks.unit_activity(planted("leaky_relu"), X))


def test_moments_and_shares_are_those_of_the_values():
    net = networks.MLP((3, 5, 4), "tanh", gain=3.0, last_activation=True, key=jax.random.key(0))
    report = networks.unit_activity(net, X)
    assert len(report) == 2
    z = X @ np.asarray(net.layers[0].weight).T
    np.testing.assert_allclose(report[0].pre_mean, z.mean(0), atol=1e-12)
    np.testing.assert_allclose(report[0].pre_variance, z.var(0))
    np.testing.assert_allclose(report[0].post_mean, np.tanh(z).mean(0), atol=1e-12)
    np.testing.assert_allclose(report[0].post_variance, np.tanh(z).var(0))
    np.testing.assert_allclose(report[0].saturated, (1 - np.tanh(z) ** 2 < 0.01).mean(0))


def test_a_network_without_activation_has_no_units_to_report():
    assert networks.unit_activity(networks.MLP((3, 5), key=jax.random.key(0)), X) == []


@pytest.mark.parametrize("threshold", [0.0, 2.0])
def test_the_threshold_counts_slopes_below_it(threshold):
    net = networks.MLP((3, 5, 4), "sigmoid", key=jax.random.key(0))
    (layer,) = networks.unit_activity(net, X, threshold=threshold)
    assert (layer.saturated == (threshold > 1)).all()
