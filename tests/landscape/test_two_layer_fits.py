"""Gradients against autodiff, and what training reaches."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.landscape import fit_two_layer, random_two_layer
from leadline.landscape.paths.almost_convex_paths import TwoLayer
from leadline.landscape.two_layer_fits import (
    bend_between,
    bezier_point,
    match_hidden_units,
    softmax_loss,
    squared_loss,
    two_layer_gradients,
)
from leadline.networks import match_weights, mlp_from_affine


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_the_gradients_are_those_of_autodiff(loss):
    rng = np.random.default_rng(0)
    net, x, labels = random_two_layer(rng, 3, 4, 2), rng.normal(size=(7, 3)), rng.integers(0, 2, 7)
    targets = np.eye(2)[labels]

    def objective(net):
        f = jnp.maximum(x @ net.first.T, 0) @ net.second.T
        if loss == "squared":
            return jnp.mean(jnp.sum((f - targets) ** 2, axis=1))
        return jnp.mean(optax.softmax_cross_entropy(f, targets))

    value, reference = jax.value_and_grad(objective)(net)
    measured = squared_loss(net(x), targets) if loss == "squared" else softmax_loss(net(x), labels)
    assert measured == pytest.approx(float(value), rel=1e-10)
    for found, expected in zip(two_layer_gradients(net, x, targets, loss), reference, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_a_trained_bend_lowers_the_barrier_and_the_ends_stay():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    labels = (x[:, 0] * x[:, 1] > 0).astype(int)
    a, b = (fit_two_layer(random_two_layer(rng, 2, 8, 2), x, labels, rng=rng, loss="softmax") for _ in range(2))
    bend = bend_between(a, b, x, labels, rng=rng, loss="softmax")
    middle = TwoLayer(*((p + q) / 2 for p, q in zip(a, b, strict=True)))

    def worst(bend):
        return max(softmax_loss(bezier_point(a, bend, b, t)(x), labels) for t in np.linspace(0, 1, 21))

    assert softmax_loss(a(x), labels) < 0.2
    assert worst(bend) < worst(middle)
    np.testing.assert_array_equal(bezier_point(a, bend, b, 1.0).first, b.first)


def test_units_are_matched_as_match_weights_does():
    rng = np.random.default_rng(2)
    a, b = random_two_layer(rng, 3, 6, 2), random_two_layer(rng, 3, 6, 2)
    mlp_a, mlp_b = (mlp_from_affine([(jnp.asarray(w), None) for w in net], "relu") for net in (a, b))
    order = match_weights(mlp_a, mlp_b).permutations[0]
    np.testing.assert_array_equal(match_hidden_units(a, b).first, b.first[order])
    np.testing.assert_array_equal(match_hidden_units(a, b).second, b.second[:, order])


def test_labels_and_losses_are_checked():
    rng = np.random.default_rng(0)
    net = random_two_layer(rng, 2, 4, 2)
    with pytest.raises(ValueError, match="2 outputs"):
        fit_two_layer(net, np.ones((3, 2)), np.array([0, 1, 2]), rng=rng)
    with pytest.raises(ValueError, match="choose 'squared' or 'softmax'"):
        bend_between(net, net, np.ones((3, 2)), np.array([0, 1, 1]), rng=rng, loss="hinge")
