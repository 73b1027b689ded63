"""Every form of training against a loop written out, and interrupted in every form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import data, training
from tests.training.engine.forms import DATA, FORMS, KEY, arrays, form, linear, masked_error, normalised_error, train

NOISE = jax.random.fold_in(KEY, 2**32 - 1)


def batches(epochs, batch):
    for epoch in range(epochs):
        for rows in data.epoch_batches(48, batch, epoch, key=KEY):
            yield {name: jnp.asarray(column)[rows] for name, column in DATA.items()}


def by_hand(loss, params, rule, stream):
    """Adam in a Python loop: the points after every step."""
    memory, points = rule.init(params), []
    for step, batch in enumerate(stream):
        change, memory = rule.update(jax.grad(loss)(params, batch, jax.random.fold_in(NOISE, step)), memory, params)
        params = optax.apply_updates(params, change)
        points.append(params)
    return points


def masked_mean(params, batch, key):
    errors = (batch["x"] @ params["w"] + params["b"] - batch["y"]) ** 2
    return jnp.sum(errors * batch["mask"]) / jnp.sum(batch["mask"])


@pytest.fixture(scope="module")
def path():
    return by_hand(masked_mean, linear(), optax.adam(0.05), batches(4, 12))


def test_a_masked_loss_is_the_mean_over_what_the_mask_keeps(path):
    run = train("plain")
    np.testing.assert_allclose(run.model["w"], path[-1]["w"], rtol=1e-10)
    np.testing.assert_allclose(run.model["b"], path[-1]["b"], rtol=1e-10)


def test_micro_batches_of_unequal_weight_give_the_gradient_of_the_whole_batch(path):
    run = train("accumulation")
    np.testing.assert_allclose(run.model["w"], path[-1]["w"], rtol=1e-10)


def test_averages_follow_their_recursion(path):
    run = train("averages")
    for decay, average in zip((0.5, 0.99), run.averages, strict=True):
        expected = np.zeros(3)
        for point in path:
            expected = decay * expected + (1 - decay) * np.asarray(point["w"])
        np.testing.assert_allclose(average["w"], expected, rtol=1e-10)


def test_the_recorder_keeps_every_second_step(path):
    np.testing.assert_allclose(train("recorder").recorded, [p["w"] for p in path[1::2]], rtol=1e-10)


def test_state_and_keys_go_through_the_steps():
    model, settings = form("state")
    run = train("state", epochs=2, validation=None)
    params, rest = eqx.partition(model, eqx.is_inexact_array)
    rule, state = settings["optimiser"], settings["state"]
    memory = rule.init(params)
    for step, batch in enumerate(batches(2, 12)):
        key = jax.random.fold_in(NOISE, step)

        def loss(params, state=state, batch=batch, key=key):
            rows, after = normalised_error(eqx.combine(params, rest), batch, key, state)
            return jnp.mean(rows), after

        gradient, state = jax.grad(loss, has_aux=True)(params)
        change, memory = rule.update(gradient, memory, params)
        params = optax.apply_updates(params, change)
    found = jax.tree.leaves((run.state, eqx.filter(run.model, eqx.is_inexact_array)))
    for ours, theirs in zip(found, jax.tree.leaves((state, params)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)


def test_validation_is_in_the_mode_of_inference():
    run = train("state", epochs=1)
    model = eqx.nn.inference_mode(run.model)
    outputs = [model(x, run.state, jax.random.key(9))[0] for x in jnp.asarray(DATA["x"])]
    expected = np.mean((np.asarray(outputs) - DATA["y"]) ** 2)
    assert run.history["validation_loss"][0] == pytest.approx(expected, rel=1e-10)


def test_players_take_their_turns_on_batches_of_their_own():
    run = train("players", epochs=2)
    critic, generator = 0.3, np.ones(3)
    rule = optax.adam(0.01)
    memory = rule.init(generator)
    stream = list(batches(2, 6))
    for number in range(4):
        key = jax.random.fold_in(NOISE, number)
        for turn in range(3):
            batch = stream[4 * number + turn]
            noise = 0.1 * np.asarray(jax.random.normal(jax.random.fold_in(key, turn), (6,)))
            gap = np.mean(np.asarray(batch["x"]) @ generator + noise - np.asarray(batch["y"]))
            critic = critic - 0.1 * (gap + 2 * critic)
        slope = -critic * np.mean(np.asarray(stream[4 * number + 3]["x"]), axis=0)
        change, memory = rule.update(slope, memory)
        generator = generator + np.asarray(change)
    assert run.model["critic"] == pytest.approx(critic, rel=1e-10)
    np.testing.assert_allclose(run.model["generator"], generator, rtol=1e-10)
    assert {"critic_loss", "generator_loss", "loss"} <= run.history.keys()


def test_a_function_may_draw_the_batches():
    def draw(key):
        return jax.random.normal(key, (8,))

    run = training.fit(
        jnp.asarray(2.0),
        draw,
        objective=lambda w, batch, key, state: (w * batch, state),
        optimiser=optax.sgd(1.0),
        num_steps=5,
        epochs=2,
        key=KEY,
    )
    keys = [k for epoch in range(2) for k in jax.random.split(jax.random.fold_in(KEY, epoch), 5)]
    assert run.model == pytest.approx(2 - sum(float(jnp.mean(draw(k))) for k in keys))


def test_rows_that_stay_on_the_host_give_the_same_bits(monkeypatch):
    from leadline.training import feeding

    whole = train("averages")
    monkeypatch.setattr(feeding, "HOSTED_BYTES", 0)
    monkeypatch.setattr(feeding, "BYTES_PER_CALL", 2 * 12 * (4 * 8 + 1))
    for a, b in zip(arrays(train("averages")), arrays(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


STRANGER = training.Player(masked_error, optax.sgd(0.1), "z")


class Stop(Exception):
    pass


@pytest.mark.parametrize("name", FORMS)
def test_a_run_stopped_and_resumed_ends_with_the_same_bits(name, tmp_path):
    def stop(record):
        if record["epoch"] == 3:
            raise Stop

    whole = train(name, directory=tmp_path / "whole", every=1)
    with pytest.raises(Stop):
        train(name, directory=tmp_path / "stopped", every=1, on_epoch=stop)
    resumed = train(name, directory=tmp_path / "stopped", every=1, resume=True)
    for a, b in zip(arrays(resumed), arrays(whole), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (tmp_path / "stopped/metrics.jsonl").read_bytes() == (tmp_path / "whole/metrics.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"averages": (1.0,)}, "decay 1.0"),
        ({"micro": 5}, "choose a multiple"),
        ({"optimiser": None}, "needs an optimiser"),
        ({"loss": "squared"}, "beside an objective"),
        ({"num_steps": 3}, "leave it out"),
        ({"players": (training.Player(masked_error, optax.sgd(0.1), "w"),)}, "one of the two"),
        (
            {"players": (training.Player(masked_error, optax.sgd(0.1), "z"),), "optimiser": None, "objective": None},
            "no part",
        ),
    ],
)
def test_what_does_not_fit_together_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        train("plain", **change)


def test_a_player_that_diverges_is_measured():
    players = (
        training.Player(lambda m, b, k, s: (m["a"] ** 2 + 0 * b["y"], s), optax.sgd(0.1), "a"),
        training.Player(lambda m, b, k, s: (m["b"] ** 2 + 0 * b["y"], s), optax.sgd(3.0), "b"),
    )
    model = {"a": jnp.asarray(1.0), "b": jnp.asarray(1.0)}
    with pytest.raises(training.Diverged, match="the steps are too long: the sharpness 2 is above"):
        training.fit(model, DATA, players=players, epochs=300, batch=12, key=KEY)
