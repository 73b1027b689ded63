"""`fit` against a loop in plain Python, and what it says when something is wrong."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import data, training
from leadline.networks import MLP
from leadline.training import feeding
from leadline.training.feeding import Schedule

KEY = jax.random.key(7)


@pytest.fixture(scope="module")
def sample():
    images, labels, *_ = data.digits_split()
    return images[:200], labels[:200]


@pytest.fixture(scope="module")
def held():
    split = data.digits_split()
    return split.test_images[:50], split.test_labels[:50]


def network(widths=(64, 16, 10), activation="tanh"):
    return MLP(widths, activation, key=jax.random.key(0))


def same(a, b):
    pairs = zip(jax.tree.leaves(eqx.filter(a, eqx.is_array)), jax.tree.leaves(eqx.filter(b, eqx.is_array)), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def by_hand(net, sample, rule, epochs, batch):
    """The same training as a Python loop over batches; the mean losses of the epochs, and the end."""
    x, y = jnp.asarray(sample[0]), jnp.asarray(sample[1])

    @jax.jit
    def step(net, memory, rows):
        def loss(net):
            chosen = jax.nn.log_softmax(jax.vmap(net)(x[rows]))
            return -jnp.mean(jnp.take_along_axis(chosen, y[rows][:, None], axis=1))

        value, gradient = jax.value_and_grad(loss)(net)
        change, memory = rule.update(gradient, memory, net)
        return optax.apply_updates(net, change), memory, value

    memory, means = rule.init(net), []
    for epoch in range(epochs):
        values = []
        for rows in data.epoch_batches(len(x), batch, epoch, key=KEY):
            net, memory, value = step(net, memory, rows)
            values.append(value)
        means.append(np.mean(values))
    return net, means


def test_it_does_what_a_plain_loop_does(sample, held, monkeypatch):
    rule = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(optax.cosine_decay_schedule(0.01, 18)))
    end, means = by_hand(network(), sample, rule, epochs=3, batch=32)
    seen = []
    run = training.fit(
        network(), sample, optimiser=rule, epochs=3, batch=32, validation=held, key=KEY, on_epoch=seen.append
    )
    np.testing.assert_allclose(run.history["loss"], means, rtol=1e-10)
    for a, b in zip(run.model.layers, end.layers, strict=True):
        np.testing.assert_allclose(a.weight, b.weight, rtol=1e-8, atol=1e-12)
    outputs = jax.vmap(run.model)(jnp.asarray(held[0]))
    right = np.mean(np.argmax(outputs, axis=1) == held[1])
    assert run.history["validation_accuracy"][-1] == pytest.approx(right)
    loss = -np.mean(jax.nn.log_softmax(outputs)[np.arange(50), held[1]])
    assert run.history["validation_loss"][-1] == pytest.approx(loss)
    assert [record["epoch"] for record in seen] == [1, 2, 3]
    assert [record["step"] for record in seen] == [6, 12, 18]
    assert run.reason == "finished"

    monkeypatch.setattr(feeding, "WORK_PER_CALL", 6 * 32 * 1210 * 2)  # two steps to a call instead of three epochs
    parts = training.fit(network(), sample, optimiser=rule, epochs=3, batch=32, validation=held, key=KEY)
    assert same(parts.model, run.model)
    assert parts.history.keys() == run.history.keys()
    assert all(np.array_equal(parts.history[name], run.history[name]) for name in run.history)


def test_early_stopping_keeps_the_best(sample, held):
    rule = optax.sgd(1.0)
    long = training.fit(network(), sample, optimiser=rule, epochs=60, batch=50, validation=held, key=KEY)
    losses = long.history["validation_loss"]
    best = np.minimum.accumulate(losses)
    waited = [epoch - int(np.argmin(losses[: epoch + 1])) for epoch in range(60)]
    expected = next(epoch + 1 for epoch in range(60) if waited[epoch] >= 4)
    run = training.fit(network(), sample, optimiser=rule, epochs=60, batch=50, validation=held, patience=4, key=KEY)
    assert run.reason == "stopped early"
    assert run.epochs == expected < 60
    np.testing.assert_array_equal(run.history["validation_loss"], losses[:expected])
    outputs = jax.vmap(run.best)(jnp.asarray(held[0]))
    loss = optax.softmax_cross_entropy_with_integer_labels(outputs, jnp.asarray(held[1])).mean()
    assert float(loss) == pytest.approx(best[expected - 1])


def test_between_epochs_in_parts_two_states_are_alive_and_no_copy_of_the_best(sample, monkeypatch):
    monkeypatch.setattr(feeding, "HOSTED_BYTES", 0)
    net = network((64, 128, 10))
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_inexact_array)))
    before, seen = sum(a.nbytes for a in jax.live_arrays()), []

    def weigh(record):
        seen.append((sum(a.nbytes for a in jax.live_arrays()) - before) / size)

    run = training.fit(net, sample, optimiser=optax.adam(1e-3), epochs=4, batch=50, key=KEY, on_epoch=weigh)
    assert np.all(np.diff(run.history["loss"]) < 0)  # every epoch was the best
    assert max(seen) < 6.5  # parameters and two moments, after the epoch and before it; of a batch, nothing


def test_squared_loss_and_a_loss_of_your_own():
    x = np.linspace(-1, 1, 40)[:, None]
    net = MLP((1, 8, 1), "tanh", key=jax.random.key(0))
    settings = {"optimiser": optax.adam(0.01), "epochs": 5, "batch": 8, "key": KEY}
    squared = training.fit(net, (x, x[:, 0] ** 3), loss="squared", **settings)
    own = training.fit(net, (x, x[:, 0] ** 3), loss=lambda f, y: (f[:, 0] - y) ** 2, **settings)
    np.testing.assert_allclose(own.history["loss"], squared.history["loss"], rtol=1e-12)
    assert "accuracy" not in squared.history


WRONG = {
    "as many targets as inputs": lambda x, y: (x, y[:-1]),
    "are empty": lambda x, y: (x[:0], y[:0]),
    "input in row 3 is not a finite number": lambda x, y: (np.where(np.arange(len(x))[:, None] == 3, np.nan, x), y),
    "label in row 5 is 10; a model with 10 outputs needs labels 0 to 9": lambda x, y: (
        x,
        np.where(np.arange(len(y)) == 5, 10, y),
    ),
    "label in row 0 is -1": lambda x, y: (x, y - y[0] - 1),
    "one integer label": lambda x, y: (x, y * 0.5),
    "does not take a training input of shape": lambda x, y: (x[:, :60], y),
    "convert them to numbers": lambda x, y: (x.astype(str), y),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_data_are_named_in_one_sentence(sample, message):
    with pytest.raises(ValueError, match=message) as caught:
        training.fit(network(), WRONG[message](*sample), optimiser=optax.sgd(0.1), epochs=1, key=KEY)
    assert "\n" not in str(caught.value)


def test_three_arrays_are_not_a_sample(sample):
    with pytest.raises(ValueError, match="must be a pair"):
        training.checked_sample(network(), (*sample, sample[1]), "cross-entropy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"batch": 0}, "choose 1 to 200"),
        ({"batch": 201}, "choose 1 to 200"),
        ({"patience": 0}, "patience=0"),
        ({"resume": True}, "without a directory"),
        ({"loss": "entropy"}, "no loss called 'entropy'"),
    ],
)
def test_wrong_settings_are_named(sample, change, message):
    settings = {"optimiser": optax.sgd(0.1), "epochs": 1, "batch": 50, "key": KEY} | change
    with pytest.raises(ValueError, match=message):
        training.fit(network(), sample, **settings)


@pytest.mark.slow
def test_a_step_that_is_too_long_is_said_to_be(tmp_path):
    x = np.ones((16, 1))
    net = MLP((1, 1), bias=False, key=jax.random.key(0))
    # The loss w² has sharpness 2, so that steps above 1 diverge: w grows by the factor 2 · 3 - 1 = 5 a step.
    settings = {"optimiser": optax.sgd(3.0), "epochs": 300, "batch": 8, "loss": "squared", "key": KEY}
    with pytest.raises(training.Diverged) as caught:
        training.fit(net, (x, np.zeros(16)), directory=tmp_path, every=20, **settings)
    w = np.abs(np.asarray(net.layers[0].weight))[0, 0]
    first_bad = next(t for t in range(600) if np.log10(w) + t * np.log10(5) > np.log10(np.finfo(float).max) / 2)
    assert abs(caught.value.step - first_bad) <= 1
    assert caught.value.epoch == caught.value.step // 2
    assert "sharpness 2 is above 2/(step size) = 0.667" in str(caught.value)
    assert f"step {caught.value.step}" in str(caught.value)
    kept = sorted(int(p.name) for p in (tmp_path / "checkpoints").iterdir())
    assert kept[-1] == (caught.value.step - 1) // 2  # the epoch at whose start the loss was finite for the last time
    assert np.isfinite(caught.value.run.model.layers[0].weight).all()
    assert len(caught.value.run.history["loss"]) == caught.value.epoch
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == caught.value.epoch
    assert np.isfinite(json.loads(lines[-1])["loss"])


@pytest.mark.slow
def test_outputs_that_overflow_before_any_step_are_said_to(sample):
    net = eqx.tree_at(lambda n: n.layers[1].weight, network(), jnp.full((10, 16), 1e308))
    with pytest.raises(training.Diverged, match="before any step") as caught:
        training.fit(net, sample, optimiser=optax.sgd(0.1), epochs=1, batch=50, key=KEY)
    assert caught.value.step == 0


@pytest.mark.slow
def test_a_loss_that_breaks_by_itself_is_told_from_long_steps():
    net = eqx.tree_at(lambda n: n.layers[0].weight, MLP((1, 1), bias=False, key=KEY), jnp.ones((1, 1)))
    # Descent on √w with step 0.3 goes 1, 0.85, 0.69, 0.51, 0.30, 0.019 and then below 0.
    with pytest.raises(training.Diverged, match="a logarithm of 0 or a division by 0") as caught:
        training.fit(
            net,
            (np.ones((4, 1)), np.zeros(4)),
            optimiser=optax.sgd(0.3),
            epochs=20,
            batch=4,
            loss=lambda outputs, targets: jnp.sqrt(outputs[:, 0]),
            key=KEY,
        )
    assert caught.value.step == 6


def test_the_schedule_cuts_small_work_into_epochs_and_large_work_into_parts():
    assert Schedule.of(100, 10, 10, most=5) == (5, 1)
    assert Schedule.of(10**9, 128, 400, most=5) == (1, 400)
