"""Stochastic gradients: enumeration against the covariance formulas, the path against plain descent."""

from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.learning import sample_gradients
from leadline.learning.sampling import batch_covariance, draw_batches, gradient_covariance, sgd_path

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 2)), RNG.normal(size=6)


def loss(w, x, y):
    return (w @ x - y) ** 2


def test_gradients_of_examples_are_those_of_the_squared_loss():
    w = jnp.array([0.3, -1.0])
    np.testing.assert_allclose(sample_gradients(loss, w, X, Y), 2 * (X @ w - Y)[:, None] * X, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_covariance_of_a_batch_is_that_of_all_batches(batch):
    g = RNG.normal(size=(6, 2))
    for replacement, batches in ((True, product(range(6), repeat=batch)), (False, combinations(range(6), batch))):
        means = g[np.array(list(batches))].mean(1)
        np.testing.assert_allclose(np.cov(means.T, bias=True), batch_covariance(g, batch, replacement=replacement))


def test_one_gradient_alone_has_no_noise():
    assert gradient_covariance(np.ones((1, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert batch_covariance(np.ones((1, 2)), 1, replacement=False).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_full_batch_is_gradient_descent():
    batches = draw_batches(6, 6, 15, scheme="permuted", key=KEY)
    path = sgd_path(loss, jnp.zeros(2), 0.1, batches, X, Y)
    w = np.zeros(2)
    for k in range(15):
        w = w - 0.1 * 2 * X.T @ (X @ w - Y) / 6
        np.testing.assert_allclose(path[k + 1], w, atol=1e-12)


def test_draws_with_replacement_are_uniform_and_permuted_epochs_show_everything():
    drawn = np.asarray(draw_batches(5, 4, 2500, key=KEY))
    assert drawn.shape == (2500, 4)
    assert np.all(np.abs(np.bincount(drawn.ravel()) / 10_000 - 0.2) < 4 * np.sqrt(0.16 / 10_000))
    assert sorted(np.asarray(draw_batches(6, 2, 3, scheme="permuted", key=KEY)).ravel().tolist()) == list(range(6))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="batch"):
        batch_covariance(np.ones((3, 1)), 4, replacement=False)
    with pytest.raises(ValueError, match="at least 1"):
        draw_batches(5, 0, 2, key=KEY)
