"""Moments of layers against closed forms, and the mean-field prediction against random draws."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import as_apply
from leadline.networks import MLP, predict_signal, unit_activity
from leadline.networks.dissection import dissect, input_sensitivity, measure_moments, predict_moments
from leadline.networks.dissection.chain_mean_field import why_no_mean_field
from leadline.networks.dissection.layer_moments import direction_concentration

KEY = jax.random.key(0)


def squared(outputs, targets):
    return jnp.sum((outputs - targets) ** 2, axis=1)


def test_moments_of_a_relu_network_and_its_dead_units():
    net = MLP((5, 8, 2), key=KEY)
    net = eqx.tree_at(lambda n: n.layers[0].bias, net, jnp.array([-1000.0, 0, 0, 0, 0, 0, 0, 0]))
    apply, params = as_apply(net)
    x, y = jax.random.normal(KEY, (40, 5)), jnp.zeros((40, 2))
    found = dissect(apply, params, x)
    first, last = measure_moments(found, params, x, y, squared)
    activity = unit_activity(net, x)[0]
    assert first.dead.tolist() == activity.dead.tolist()
    assert first.dead.sum() == 1
    np.testing.assert_allclose(first.active, 1 - np.asarray(activity.zeros), atol=1e-12)
    scores = np.asarray(apply(params, x))
    np.testing.assert_allclose(last.second, np.mean(scores**2), rtol=1e-9)
    np.testing.assert_allclose(last.gradient, np.sqrt(np.mean(np.sum((2 * scores) ** 2, 1))), rtol=1e-9)
    np.testing.assert_allclose(first.pull, last.pull_without_bias, rtol=1e-9)  # ReLU is homogeneous


@pytest.mark.slow
def test_mean_field_is_that_of_the_networks_room_for_one_input():
    net = MLP((30, 20, 25, 4), "tanh", bias_scale=0.2, key=KEY)
    apply, params = as_apply(net)
    x = jax.random.normal(KEY, (1, 30))
    found = dissect(apply, params, x)
    moments = measure_moments(found, params, x, jnp.zeros((1, 4)), squared)
    predicted = predict_moments(found.chain, x, moments)
    reference = predict_signal(net, float(jnp.mean(x**2)))
    np.testing.assert_allclose(predicted.second, reference.second_moment, rtol=1e-6)
    np.testing.assert_allclose(predicted.gradient / predicted.gradient[-1], reference.gradient_norm, rtol=1e-6)


@pytest.mark.slow
def test_networks_scatter_about_the_mean_field_as_predicted():
    x, y = jax.random.normal(KEY, (20, 16)) + 1.0, jnp.zeros((20, 4))
    apply, params = as_apply(MLP((16, 24, 24, 4), key=KEY))
    found, ratios = dissect(apply, params, x), []
    for seed in range(30):
        params = as_apply(MLP((16, 24, 24, 4), key=jax.random.key(seed))).params
        chain = found.chain_at(params)
        moments = measure_moments(found, params, x, y, squared, chain=chain)
        predicted = predict_moments(chain, x, moments)
        ratios.append(
            (np.log([m.second for m in moments]) - np.log(predicted.second)) / np.sqrt(predicted.second_spread)
        )
    for layer in np.array(ratios).T:
        assert abs(layer.mean()) < 0.8  # of log chi-square a little below 0
        assert 0.6 < layer.std() < 1.5


def test_where_there_is_no_mean_field_the_reason_is_said():
    net = MLP((4, 3, 2), last_activation=True, key=KEY)
    apply, params = as_apply(net)
    assert "alternate" in why_no_mean_field(dissect(apply, params, jnp.ones((2, 4))).chain)
    assert why_no_mean_field(None, "it is a chain") == "it is a chain"


def test_concentration_and_sensitivity():
    assert direction_concentration(np.diag([1.0, 1.0, 0.0])) == 0.5

    def conv(w, x):
        return jax.lax.conv(x[:, None], w, (2, 2), "VALID").reshape(len(x), -1)

    w, x = jnp.ones((2, 1, 3, 3)).at[1].set(2.0), jnp.ones((3, 7, 7))
    seen = input_sensitivity(dissect(conv, w, x), w, x, 0)
    assert np.argwhere(seen.sum(0)).ravel().tolist() == [2, 3, 4]  # the middle of three windows
    assert seen.max() == 3.0  # |1 - 2| on three rows
