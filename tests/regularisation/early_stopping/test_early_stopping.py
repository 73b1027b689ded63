"""The rule of patience, and which rows are fitted first."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.regularisation import fitting_order, stopping_point


def test_small_gains_do_not_count_with_a_min_delta():
    losses = np.array([1.0, 0.95, 0.9, 0.85, 0.2])
    assert stopping_point(losses, 2, min_delta=0.2)[:2] == (2, 0)
    assert stopping_point(losses, 2)[:2] == (4, 4)
    assert not stopping_point(losses, 2).stopped_early


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="patience"):
        stopping_point(np.ones(3), 0)
    with pytest.raises(ValueError, match="NaN"):
        stopping_point(np.array([1.0, np.nan]), 2)


def test_accuracies_are_those_of_the_network_after_each_epoch():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(12, 3)), jnp.float32)
    labels = rng.integers(0, 2, 12).astype(np.int32)
    mask = np.arange(12) < 4
    start = jnp.asarray(rng.normal(size=(3, 2)), jnp.float32)
    order = fitting_order(
        lambda w, x: x @ w,
        start,
        x,
        labels,
        mask,
        epochs=2,
        batch=12,
        optimiser=optax.sgd(0.5),
        true_labels=(1 - labels).astype(np.int32),
        key=jax.random.key(0),
    )

    def loss(w):
        return optax.softmax_cross_entropy_with_integer_labels(x @ w, jnp.asarray(labels)).mean()

    w = start
    for t in range(2):
        w = w - 0.5 * jax.grad(loss)(w)
        right = np.asarray(jnp.argmax(x @ w, axis=1)) == labels
        np.testing.assert_allclose([order.clean[t], order.corrupted[t]], [right[~mask].mean(), right[mask].mean()])
        np.testing.assert_allclose(order.true[t], 1 - right[mask].mean(), atol=1e-6)
    assert order.lead == pytest.approx(np.max(order.clean - order.corrupted))


def test_a_mask_without_both_kinds_is_refused():
    x, y = jnp.ones((3, 2)), np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="some of each kind"):
        fitting_order(lambda w, x: x @ w, jnp.ones((2, 2)), x, y, np.zeros(3, bool), epochs=1, key=jax.random.key(0))
