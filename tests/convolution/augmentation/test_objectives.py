"""Augmentation inside `fit`: the same as by hand, keyed, off in validation; mixup and the set of copies."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import networks, training
from leadline.convolution.augmentation import (
    Augmented,
    ChannelsLast,
    Flip,
    Noise,
    Pipeline,
    Shift,
    Sometimes,
    TokenMasking,
    augment,
    augmented_copies,
    mixup,
    soft_cross_entropy,
)
from leadline.training.objectives import Supervised, squared_error

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(32, 4, 4)).astype(np.float32), RNG.integers(0, 3, 32)
NET = networks.MLP((16, 8, 3), key=jax.random.key(0))
KEY = jax.random.key(7)


def test_a_pipeline_is_its_steps_one_after_the_other():
    steps = Shift(1), Noise(0.1)
    by_hand = jnp.asarray(X[0])
    for place, step in enumerate(steps):
        by_hand = step(jax.random.fold_in(KEY, place), by_hand)
    assert (Pipeline(*steps)(KEY, jnp.asarray(X[0])) == by_hand).all()


def test_rows_of_a_batch_have_keys_of_their_own_and_the_same_key_gives_the_same():
    found = augment(Noise(1.0), jnp.zeros((3, 5)), key=KEY)
    assert (found == augment(Noise(1.0), jnp.zeros((3, 5)), key=KEY)).all()
    assert len(np.unique(found)) == 15


def test_sometimes_is_so_often():
    found = augment(Sometimes(lambda key, x: x + 1, 0.3), jnp.zeros(1000), key=KEY)
    assert 0.25 < float(found.mean()) < 0.35
    with pytest.raises(ValueError, match="between 0 and 1"):
        Sometimes(Shift(1), -0.1)
    with pytest.raises(ValueError, match="keeps the shape"):
        Sometimes(lambda key, x: x[1:], 0.5)(KEY, jnp.zeros(3))


def test_the_objective_is_the_inner_one_on_augmented_rows_and_nothing_changes_in_validation():
    objective = Augmented(Shift(1), loss="cross-entropy")
    rows, _ = objective(NET, (X, Y), KEY, None)
    own, _, _ = jax.random.split(KEY, 3)
    moved = jax.vmap(Pipeline(Shift(1)))(jax.random.split(own, 32), jnp.asarray(X))
    by_hand = optax.softmax_cross_entropy_with_integer_labels(jax.vmap(NET)(moved), jnp.asarray(Y))
    np.testing.assert_allclose(rows.losses, by_hand, rtol=1e-6)
    quiet, _ = eqx.nn.inference_mode(objective)(NET, (X, Y), None, None)
    plain, _ = Supervised(optax.softmax_cross_entropy_with_integer_labels)(NET, (X, Y), None, None)
    assert (quiet.losses == plain.losses).all()
    with pytest.raises(ValueError, match="no key"):
        objective(NET, (X, Y), None, None)


def test_fit_takes_it_and_a_run_is_a_function_of_its_key():
    how = {"optimiser": optax.adam(0.01), "epochs": 2, "batch": 16, "validation": (X, Y), "key": KEY}
    runs = [training.fit(NET, (X, Y), objective=Augmented(Shift(1), Flip(), mixup=0.2), **how) for _ in range(2)]
    assert all((a == b).all() for a, b in zip(*(jax.tree.leaves(r.model) for r in runs), strict=True))
    assert "validation_accuracy" in runs[0].history


def test_a_batch_of_another_form_says_which_array_is_meant():
    def right(model, batch, key, state):
        return (batch["tokens"] == 1).astype(float), state

    objective = Augmented(TokenMasking(1.0, mask=1), objective=right, where=lambda batch: batch["tokens"])
    losses, _ = objective(None, {"tokens": jnp.zeros((2, 3), int), "mask": jnp.ones((2, 3))}, KEY, None)
    assert losses.tolist() == [[1.0] * 3] * 2


def test_mixup_mixes_inputs_and_targets_alike_and_loses_nothing():
    x, y = mixup(KEY, jnp.asarray(X), jax.nn.one_hot(Y, 3), 0.4)
    np.testing.assert_allclose(x.sum(axis=0), X.sum(axis=0) + (x - X).sum(axis=0), atol=1e-4)
    np.testing.assert_allclose(y.sum(axis=1), 1.0, atol=1e-6)
    pairs, same = mixup(KEY, jnp.eye(40), jnp.eye(40), 1.0)
    assert (pairs == same).all()
    assert ((pairs > 0).sum(axis=1) <= 2).all()
    numbers, _ = mixup(KEY, jnp.ones((5, 2)), jnp.ones(5), 1.0)
    np.testing.assert_allclose(numbers, 1.0, atol=1e-6)
    rows, _ = Augmented(mixup=0.3, loss=squared_error)(lambda x: x.sum(), (X, X.sum((1, 2))), KEY, None)
    np.testing.assert_allclose(rows.losses, 0.0, atol=1e-8)  # a linear target stays one


def test_mixup_refuses_what_has_no_mean():
    with pytest.raises(ValueError, match="one_hot"):
        mixup(KEY, jnp.asarray(X), jnp.asarray(Y), 0.4)
    with pytest.raises(ValueError, match="real numbers"):
        mixup(KEY, jnp.ones((3, 2), int), jnp.ones(3), 0.4)
    with pytest.raises(ValueError, match="above 0"):
        mixup(KEY, jnp.ones((3, 2)), jnp.ones(3), 0.0)
    with pytest.raises(ValueError, match="pairs"):
        Augmented(mixup=0.1, where=lambda batch: batch["x"])
    with pytest.raises(ValueError, match="give one of them"):
        Augmented(loss="squared", objective=lambda *a: a)


def test_soft_cross_entropy_agrees_on_labels_and_their_indicators():
    scores = jnp.asarray(RNG.normal(size=(5, 3)))
    labels = jnp.array([0, 2, 1, 1, 0])
    soft = soft_cross_entropy(scores, jax.nn.one_hot(labels, 3))
    np.testing.assert_allclose(soft_cross_entropy(scores, labels), soft, rtol=1e-6)


def test_copies_stand_beside_the_originals():
    found = augmented_copies(ChannelsLast(Flip("left-right", 1.0)), X[:, :, :, None], Y, 2, key=KEY)
    assert found.examples.shape == (96, 4, 4, 1)
    assert (found.labels == Y[found.origin]).all()
    assert (found.examples[:32] == X[..., None]).all()
    assert (found.examples[32:64] == X[:, :, ::-1, None]).all()
    assert len(augmented_copies(Shift(1), X, Y, 3, identity=False, key=KEY).labels) == 96
    with pytest.raises(ValueError, match="rows"):
        augmented_copies(Shift(1), X, Y[:3], 1, key=KEY)
