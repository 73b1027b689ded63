"""Rules whose numbers are data, and rules that ask for the loss, train networks like any other Optax rule."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.data import generator
from leadline.optimisation import heavy_ball, nesterov, tunable
from leadline.training import fit


@pytest.fixture(scope="module")
def line():
    x = generator(jax.random.key(0)).normal(size=(32, 2)).astype(np.float32)
    return x, x @ np.array([[1.0], [-2.0]], np.float32)


def trained(line, optimiser):
    import equinox as eqx

    network = eqx.nn.Linear(2, 1, key=jax.random.key(1), dtype=jnp.float32)
    return fit(network, line, optimiser=optimiser, epochs=30, batch=32, loss="squared", key=jax.random.key(2))


def test_heavy_ball_is_optax_momentum(line):
    ours, theirs = trained(line, heavy_ball(0.05, 0.8)), trained(line, optax.sgd(0.05, momentum=0.8))
    assert ours.history["loss"] == pytest.approx(theirs.history["loss"], rel=1e-4, abs=1e-7)


def test_nesterov_follows_the_look_ahead_points_of_optax(line):
    ours = trained(line, nesterov(0.05, 0.8))
    theirs = trained(line, optax.sgd(0.05, momentum=0.8, nesterov=True))
    assert ours.history["loss"] == pytest.approx(theirs.history["loss"], rel=1e-4, abs=1e-7)


def test_numbers_that_are_data_change_nothing(line):
    ours, theirs = trained(line, tunable(optax.adam, learning_rate=0.1)), trained(line, optax.adam(0.1))
    assert ours.history["loss"] == pytest.approx(theirs.history["loss"], rel=1e-4, abs=1e-7)


def test_a_line_search_is_told_the_loss_and_shortens_steps_that_are_far_too_long(line):
    search = optax.chain(optax.sgd(100.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=20))
    losses = trained(line, search).history["loss"]
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < losses[0] / 100
