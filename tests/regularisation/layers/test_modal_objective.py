"""Training with modes: against a loop by hand, of several seeds at once, of a user's network, and what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import training
from leadline.data import epoch_batches
from leadline.regularisation import ModalObjective, RegularisedMLP

KEY = jax.random.key(1)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 5))
Y = (X[:, 0] > 0).astype(int)
HELD = X[:20] + 0.1, Y[:20]
SETTINGS = {"optimiser": optax.adam(0.02), "epochs": 3, "batch": 16, "key": KEY, "validation": HELD}


def made(seed=0, **options):
    options = {"dropout": 0.3, "normalisation": "batch"} | options
    return eqx.nn.make_with_state(RegularisedMLP)((5, 8, 2), "tanh", key=jax.random.key(seed), **options)


class Images(eqx.Module):
    """A user's own network: another name for the axis, a state, and dropout that asks for a key."""

    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key)
        self.conv = eqx.nn.Conv2d(1, 4, 3, padding=1, key=keys[0])
        self.norm = eqx.nn.BatchNorm(4, axis_name="rows", mode="batch", momentum=0.5)
        self.dropout = eqx.nn.Dropout(0.2)
        self.head = eqx.nn.Linear(4, 2, key=keys[1])

    def __call__(self, x, state, key):
        hidden, state = self.norm(self.conv(x[None]), state)
        return self.head(self.dropout(jax.nn.relu(hidden).mean(axis=(1, 2)), key=key)), state


def outputs_by_hand(net, state, x):
    used = eqx.nn.inference_mode(net)
    return np.array([used(row, state)[0] for row in jnp.asarray(x)])


def test_validation_is_in_use_with_the_running_statistics_of_that_epoch():
    net, state = made()
    run = training.fit(net, (X, Y), objective=ModalObjective(), state=state, **SETTINGS)
    scores = outputs_by_hand(run.model, run.state, HELD[0])
    expected = optax.softmax_cross_entropy_with_integer_labels(scores, HELD[1]).mean()
    assert run.history["validation_loss"][-1] == pytest.approx(float(expected), rel=1e-9)
    assert run.history["validation_accuracy"][-1] == pytest.approx(np.mean(scores.argmax(axis=1) == HELD[1]))
    assert "accuracy" in run.history


def test_the_best_network_comes_with_its_own_statistics():
    net, state = made(dropout=0.0)
    rates = {"optimiser": optax.sgd(optax.piecewise_constant_schedule(0.5, {8: 100.0})), "epochs": 6}
    run = training.fit(net, (X, Y), objective=ModalObjective(), state=state, **(SETTINGS | rates))
    losses = run.history["validation_loss"]
    assert losses.argmin() < 5
    scores = outputs_by_hand(run.best, run.best_state, HELD[0])
    best = optax.softmax_cross_entropy_with_integer_labels(scores, HELD[1]).mean()
    assert losses.min() == pytest.approx(float(best), rel=1e-9)


def test_several_seeds_at_once_are_trained_as_each_alone():
    made_of = [made(seed) for seed in range(3)]
    nets, states = zip(*made_of, strict=True)
    objective = ModalObjective()
    settings = SETTINGS | {"optimiser": optax.sgd(0.1)}  # Adam would magnify the rounding of biases before batch norm
    runs = training.fit_many(nets, (X, Y), objective=objective, states=states, **settings)
    for (net, state), key, run in zip(made_of, jax.random.split(KEY, 3), runs, strict=True):
        alone = training.fit(net, (X, Y), objective=objective, state=state, **(settings | {"key": key}))
        for name in alone.history:
            np.testing.assert_allclose(run.history[name], alone.history[name], rtol=1e-8)
        ours, theirs = ((r.model, r.best, r.state, r.best_state) for r in (run, alone))
        for a, b in zip(*(jax.tree.leaves(eqx.filter(part, eqx.is_array)) for part in (ours, theirs)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)


def test_a_network_of_the_users_with_its_own_axis_is_trained_by_hand_alike():
    x = RNG.normal(size=(32, 6, 6))
    net, state = eqx.nn.make_with_state(Images)(KEY)
    objective, rule = ModalObjective(), optax.sgd(0.1)
    run = training.fit(net, (x, Y[:32]), objective=objective, state=state, optimiser=rule, epochs=1, batch=32, key=KEY)
    step_key = jax.random.fold_in(jax.random.fold_in(KEY, 2**32 - 1), 0)
    order = np.asarray(epoch_batches(32, 32, 0, key=KEY))[0]
    keys = jax.random.split(step_key, 32)

    def loss(net):
        over = jax.vmap(net, axis_name="rows", in_axes=(0, None, 0), out_axes=(0, None))
        scores, after = over(jnp.asarray(x[order]), state, keys)
        return optax.softmax_cross_entropy_with_integer_labels(scores, Y[:32][order]).mean(), after

    gradient, after = eqx.filter_grad(loss, has_aux=True)(net)
    np.testing.assert_allclose(run.model.head.weight, net.head.weight - 0.1 * gradient.head.weight, rtol=1e-9)
    for a, b in zip(jax.tree.leaves(run.state), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("keyed", [True, False])
def test_networks_without_a_state_need_none(keyed):
    class Plain(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x, key=None):
            assert (key is not None) == keyed
            return self.layer(x)

    class Bare(eqx.Module):
        layer: eqx.nn.Linear

        def __call__(self, x):
            return self.layer(x)

    net = (Plain if keyed else Bare)(eqx.nn.Linear(5, 2, key=KEY))
    run = training.fit(net, (X, Y), objective=ModalObjective(), **SETTINGS)
    plain = training.fit(net.layer, (X, Y), **SETTINGS)
    np.testing.assert_allclose(run.history["loss"], plain.history["loss"], rtol=1e-9)


def test_a_state_that_is_not_given_or_dropped_is_told():
    net, state = made()
    with pytest.raises(ValueError, match="has layers with a state and was given none"):
        training.fit(net, (X, Y), objective=ModalObjective(), **SETTINGS)

    class Drops(eqx.Module):
        inner: RegularisedMLP

        def __call__(self, x, state, key):
            return self.inner(x, state, key=key)[0]

    with pytest.raises(ValueError, match="returns an array and drops its state; return"):
        training.fit(Drops(net), (X, Y), objective=ModalObjective(), state=state, **SETTINGS)


def test_what_cannot_be_trained_at_once_is_told():
    net, state = made()
    other, other_state = made(dropout=0.5)
    with pytest.raises(ValueError, match="differ in more than their parameters"):
        training.fit_many([net, other], (X, Y), objective=ModalObjective(), states=[state, other_state], **SETTINGS)
    with pytest.raises(ValueError, match="1 states for 2 models"):
        training.fit_many([net, net], (X, Y), objective=ModalObjective(), states=[state], **SETTINGS)
    with pytest.raises(ValueError, match="beside an objective"):
        training.fit_many([net], (X, Y), objective=ModalObjective(), states=[state], loss="squared", **SETTINGS)
    wide = eqx.nn.make_with_state(RegularisedMLP)((5, 9, 2), "tanh", dropout=0.3, normalisation="batch", key=KEY)
    with pytest.raises(ValueError, match="one width at a time"):
        training.fit_many([net, wide[0]], (X, Y), objective=ModalObjective(), states=[state, wide[1]], **SETTINGS)


def test_a_batch_of_one_is_told():
    net, state = made()
    with pytest.raises(ValueError, match="got a batch of one"):
        training.fit(net, (X, Y), objective=ModalObjective(), state=state, **(SETTINGS | {"batch": 1}))
