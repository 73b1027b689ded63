"""Losses against Optax, and what training reaches."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.landscape import fit_two_layer, path_profile, random_two_layer, straight_line, train_curve
from leadline.landscape.two_layer_fits import RISKS, falling_adam, match_hidden_units, softmax_loss, softmax_risk
from leadline.networks import match_weights, mlp_from_affine


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_the_risks_in_numpy_are_those_of_optax_on_the_formula(loss):
    rng = np.random.default_rng(0)
    net, x, labels = random_two_layer(rng, 3, 4, 2), rng.normal(size=(7, 3)), rng.integers(0, 2, 7)
    f, targets = jnp.maximum(x @ net.weight.T, 0) @ net.head.T, np.eye(2)[labels]
    square, entropy = jnp.sum((f - targets) ** 2, axis=1), optax.softmax_cross_entropy(f, targets)
    found = RISKS[loss](net, x, labels)
    assert isinstance(found, np.floating)
    assert found == pytest.approx(float(jnp.mean(square if loss == "squared" else entropy)), rel=1e-10)


def test_a_trained_curve_lowers_the_barrier_and_the_ends_stay():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2))
    labels = (x[:, 0] * x[:, 1] > 0).astype(int)
    a, b = (fit_two_layer(random_two_layer(rng, 2, 8, 2), x, labels, rng=rng, loss="softmax") for _ in range(2))
    rule = falling_adam(0.01, 300)
    curve = train_curve(softmax_risk, a, b, x, labels, key=jax.random.key(0), batch=64, optimiser=rule).curve
    assert softmax_loss(a(x), labels) < 0.2
    worst = [path_profile(softmax_risk, way, x, labels).losses.max() for way in (curve, straight_line(a, b))]
    assert worst[0] < worst[1]
    np.testing.assert_array_equal(curve(1.0).weight, b.weight)


def test_units_are_matched_as_match_weights_does():
    rng = np.random.default_rng(2)
    a, b = random_two_layer(rng, 3, 6, 2), random_two_layer(rng, 3, 6, 2)
    mlp_a, mlp_b = (mlp_from_affine([(jnp.asarray(w), None) for w in (net.weight, net.head)], "relu") for net in (a, b))
    order = match_weights(mlp_a, mlp_b).permutations[0]
    np.testing.assert_array_equal(match_hidden_units(a, b).weight, b.weight[order])
    np.testing.assert_array_equal(match_hidden_units(a, b).head, b.head[:, order])


def test_labels_and_losses_are_checked():
    rng = np.random.default_rng(0)
    net = random_two_layer(rng, 2, 4, 2)
    with pytest.raises(ValueError, match="2 outputs"):
        fit_two_layer(net, np.ones((3, 2)), np.array([0, 1, 2]), rng=rng)
    with pytest.raises(ValueError, match="choose 'squared' or 'softmax'"):
        fit_two_layer(net, np.ones((3, 2)), np.array([0, 1, 1]), rng=rng, loss="hinge")
