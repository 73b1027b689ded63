"""The plain descent against loops written out."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import data, training
from leadline.networks import MLP


def test_gradient_descent_on_a_quadratic_follows_its_closed_form():
    curvature = jnp.array([0.5, 3.0])
    end, losses = training.minimise(lambda w: jnp.sum(curvature * w**2) / 2, jnp.ones(2), optax.sgd(0.1), 20)
    np.testing.assert_allclose(end, (1 - 0.1 * curvature) ** 20, rtol=1e-12)
    powers = (1 - 0.1 * curvature)[:, None] ** (2 * np.arange(20))
    np.testing.assert_allclose(losses, curvature @ powers / 2, rtol=1e-12)


def test_batches_are_those_of_the_epochs_and_integers_stay_put():
    x = jnp.arange(10.0)
    state = {"w": jnp.asarray(0.0), "n": jnp.asarray(3)}
    end, losses = training.minimise(
        lambda s, x: s["w"] + jnp.sum(x), state, optax.sgd(0.0), 7, x, batch=3, key=jax.random.key(4)
    )
    rows = np.concatenate([data.epoch_batches(10, 3, e, key=jax.random.key(4)) for e in range(3)])[:7]
    np.testing.assert_array_equal(losses, np.asarray(x)[rows].sum(axis=1))
    assert end["n"] == 3


def test_it_can_be_mapped_over_models():
    nets = [MLP((2, 5, 1), "tanh", key=jax.random.key(s)) for s in range(3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *nets)
    x, y = jax.random.normal(jax.random.key(0), (2, 20, 2))

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x) - y[:, :1]) ** 2)

    together = jax.vmap(lambda net: training.minimise(loss, net, optax.adam(0.01), 15, x, y)[1])(stacked)
    alone = [training.minimise(loss, net, optax.adam(0.01), 15, x, y)[1] for net in nets]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_batches_without_a_key_are_refused():
    with pytest.raises(ValueError, match="no key"):
        training.minimise(lambda w, x: jnp.sum(w * x), jnp.ones(1), optax.sgd(0.1), 2, jnp.ones(4), batch=2)
