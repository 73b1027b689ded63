import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.kernels import features
from leadline.kernels.features.two_layer import two_layer_loss
from leadline.networks import MLP
from leadline.training import minimise

X = np.random.default_rng(0).standard_normal((30, 3))
Y = np.sign(X[:, 0] * X[:, 1])
START = features.draw_two_layer(3, 6, bias_scale=0.5, dtype=np.float64, key=jax.random.key(0))
RUN = {"num_steps": 40, "rate": 0.05, "decay": 0.1, "snapshots": 4}


def test_it_is_adam_with_weight_decay_on_the_mean_loss():
    run = features.train_two_layer(START, X, Y, **RUN)
    end, losses = minimise(
        two_layer_loss, START, optax.adamw(0.05, weight_decay=0.1), 40, jnp.asarray(X), jnp.asarray(Y)
    )
    np.testing.assert_allclose(run.losses, losses, rtol=1e-9)
    for ours, theirs in zip(jax.tree.leaves(run.network), jax.tree.leaves(end), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert run.times.tolist() == [0, 10, 20, 30, 40]
    np.testing.assert_array_equal(run.at(0).layers[0].weight, START.layers[0].weight)
    np.testing.assert_array_equal(run.at(4).layers[1].weight, run.network.layers[1].weight)
    margins = Y * np.asarray(jax.vmap(START)(jnp.asarray(X)))[:, 0]
    assert float(run.losses[0]) == pytest.approx(np.logaddexp(0, -margins).mean(), rel=1e-12)


def test_a_frozen_layer_does_not_move_and_the_other_one_does():
    run = features.train_two_layer(START, X, Y, frozen=True, **RUN)
    np.testing.assert_array_equal(run.network.layers[0].weight, START.layers[0].weight)
    np.testing.assert_array_equal(run.network.layers[0].bias, START.layers[0].bias)
    assert not np.array_equal(run.network.layers[1].weight, START.layers[1].weight)
    assert run.losses[-1] < run.losses[0]


def test_drawn_networks_have_the_law_of_he():
    net = features.draw_two_layer(50, 400, 3, "tanh", bias_scale=2.0, key=jax.random.key(1))
    assert net.widths == (50, 400, 3)
    assert net.layers[0].weight.dtype == jnp.float32
    assert np.var(net.layers[0].weight) == pytest.approx(2 / 50, rel=0.05)
    assert np.std(net.layers[0].bias) == pytest.approx(2.0, rel=0.2)
    assert jax.eval_shape(net, jnp.ones(50)).shape == (3,)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="choose one of logistic"):
        features.train_two_layer(START, X, Y, loss="absolute")
    with pytest.raises(ValueError, match="equal and whole"):
        features.train_two_layer(START, X, Y, num_steps=10, snapshots=3)
    with pytest.raises(ValueError, match="give one with 2"):
        features.train_two_layer(MLP((3, 1), init="zeros", key=jax.random.key(0)), X, Y)
