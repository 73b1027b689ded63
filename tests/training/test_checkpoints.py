"""Checkpoints: what is kept, and what happens when one is damaged, of another model, or does not fit on the disk."""

import errno
import json
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import training
from leadline.networks import MLP

KEY = jax.random.key(1)
X = np.random.default_rng(0).normal(size=(64, 3))
SAMPLE = (X, np.sin(X).sum(axis=1))
RULE = optax.adam(0.01)


def train(directory, *, epochs=6, net=None, **change):
    net = MLP((3, 5, 1), "tanh", key=jax.random.key(0)) if net is None else net
    settings = {"loss": "squared", "batch": 16, "key": KEY, "every": 1, "optimiser": RULE} | change
    return training.fit(net, SAMPLE, epochs=epochs, directory=directory, **settings)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    return train(place), (place / "metrics.jsonl").read_bytes()


def assert_same(run, place, undisturbed):
    whole, metrics = undisturbed
    for a, b in zip(run.model.layers, whole.model.layers, strict=True):
        np.testing.assert_array_equal(a.weight, b.weight)
        np.testing.assert_array_equal(a.bias, b.bias)
    assert (place / "metrics.jsonl").read_bytes() == metrics


def largest_file(place, epoch):
    return max(
        (f for f in (place / "checkpoints" / str(epoch) / "state").rglob("*") if f.is_file()),
        key=lambda f: f.stat().st_size,
    )


def truncate(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file):
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 3, 2 * len(content) // 3):
        content[at] ^= 0x55
    file.write_bytes(bytes(content))


def test_the_last_few_and_the_best_are_kept(tmp_path):
    with training.Checkpoints(tmp_path, keep=2) as checkpoints:
        for epoch, score in enumerate((3.0, 1.0, 2.0, 5.0, 4.0), start=1):
            checkpoints.save(epoch, {"w": np.full(3, epoch)}, score=score, settings={})
    with training.Checkpoints(tmp_path, keep=2) as again:  # the scores are on the disk, not only in memory
        again.save(6, {"w": np.full(3, 6)}, score=9.0, settings={})
        assert again.epochs() == [2, 5, 6]
        epoch, state, warnings = again.latest({"w": np.zeros(3, int)}, {})
    assert (epoch, state["w"].tolist(), warnings) == (6, [6, 6, 6], [])


@pytest.mark.parametrize("damage", [truncate, flip], ids=["truncated", "altered"])
def test_a_damaged_checkpoint_is_passed_over_and_said_so(tmp_path, undisturbed, damage):
    train(tmp_path, epochs=4)
    damage(largest_file(tmp_path, 4))
    run = train(tmp_path, resume=True)
    assert len(run.warnings) == 1
    assert "checkpoint of epoch 4 is damaged" in run.warnings[0]
    assert_same(run, tmp_path, undisturbed)


def test_a_checkpoint_without_its_description_is_passed_over(tmp_path, undisturbed):
    train(tmp_path, epochs=4)
    (tmp_path / "checkpoints" / "4" / "about" / "metadata").write_text("{")
    run = train(tmp_path, resume=True)
    assert "epoch 4 is damaged" in run.warnings[0]
    assert_same(run, tmp_path, undisturbed)


def test_no_whole_checkpoint_is_an_error_that_loses_nothing(tmp_path):
    train(tmp_path, epochs=2, keep=1)
    for epoch in (1, 2):
        if (tmp_path / "checkpoints" / str(epoch)).exists():
            truncate(largest_file(tmp_path, epoch))
    before = (tmp_path / "metrics.jsonl").read_bytes()
    with pytest.raises(ValueError, match=r"No checkpoint in .* is whole"):
        train(tmp_path, resume=True)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    train(tmp_path, epochs=2)
    with pytest.raises(
        ValueError, match=r"another model: .*layers.0.weight is float64 \(5, 3\) there and .*\(7, 3\) here"
    ):
        train(tmp_path, resume=True, net=MLP((3, 7, 1), "tanh", key=jax.random.key(0)))
    assert (tmp_path / "checkpoints" / "2").exists()


def test_other_settings_are_refused_by_name(tmp_path):
    train(tmp_path, epochs=2)
    with pytest.raises(ValueError, match="made with batch = 16, not 32"):
        train(tmp_path, resume=True, batch=32)
    with pytest.raises(ValueError, match="key"):
        train(tmp_path, resume=True, key=jax.random.key(9))


def test_a_directory_with_a_run_is_not_written_over(tmp_path):
    train(tmp_path, epochs=2)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    with pytest.raises(FileExistsError, match="already holds a run"):
        train(tmp_path, epochs=2)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_finished_run_resumed_is_itself_and_may_be_prolonged(tmp_path, undisturbed):
    train(tmp_path, epochs=3)
    assert train(tmp_path, epochs=3, resume=True).epochs == 3
    assert_same(train(tmp_path, epochs=6, resume=True), tmp_path, undisturbed)


def test_resuming_nothing_starts(tmp_path, undisturbed):
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_a_cut_off_line_of_metrics_is_written_again(tmp_path, undisturbed):
    train(tmp_path, epochs=4)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 5, "lo')
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_an_interruption_keeps_the_newest_state(tmp_path, undisturbed):
    def interrupt(record):
        if record["epoch"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, on_epoch=interrupt, every=1)
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_an_interrupt_while_a_checkpoint_is_written_waits_until_it_is_whole(tmp_path, undisturbed, monkeypatch):
    import orbax.checkpoint as ocp

    save, before = ocp.CheckpointManager.save, signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(self, step, *rest, **more):
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return save(self, step, *rest, **more)

    monkeypatch.setattr(ocp.CheckpointManager, "save", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path)
    finally:
        assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    monkeypatch.undo()
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["1", "2", "3"]
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_a_full_disk_is_said_and_loses_nothing(tmp_path, undisturbed, monkeypatch):
    import orbax.checkpoint as ocp

    save = ocp.CheckpointManager.save

    def full(self, step, *rest, **more):
        if step == 4:
            raise ValueError("RESOURCE_EXHAUSTED: Error writing file [OS error 28: ENOSPC No space left on device]")
        return save(self, step, *rest, **more)

    monkeypatch.setattr(ocp.CheckpointManager, "save", full)
    with pytest.raises(training.StorageFull, match="no room on the disk for the checkpoint of epoch 4") as caught:
        train(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_a_full_disk_under_the_metrics_is_said(tmp_path, undisturbed, monkeypatch):
    import os

    from leadline.training import metrics_file

    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        os.fsync(descriptor)

    monkeypatch.setattr(metrics_file.os, "fsync", full, raising=False)
    try:
        with pytest.raises(training.StorageFull, match="metrics of epoch"):
            train(tmp_path)
    finally:
        monkeypatch.undo()
    assert_same(train(tmp_path, resume=True), tmp_path, undisturbed)


def test_weights_round_trip_and_refuse_what_is_not_theirs(tmp_path):
    net = MLP((3, 5, 1), "tanh", key=jax.random.key(0))
    file = tmp_path / "weights.safetensors"
    training.save_weights(file, net)
    back = training.load_weights(file, MLP((3, 5, 1), "tanh", key=jax.random.key(5)))
    np.testing.assert_array_equal(back.layers[1].weight, net.layers[1].weight)
    with pytest.raises(ValueError, match=r"another model: layers.0.weight is float64 \(5, 3\) there"):
        training.load_weights(file, MLP((3, 6, 1), "tanh", key=jax.random.key(0)))
    truncate(file)
    with pytest.raises(ValueError, match=r"cannot be read as safetensors .* whole as it was exported"):
        training.load_weights(file, net)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        training.load_weights(tmp_path / "absent", net)


def test_weights_are_read_by_the_safetensors_library_itself(tmp_path):
    from safetensors.numpy import load_file

    training.save_weights(tmp_path / "w", {"a": jnp.arange(4.0), "b": [jnp.ones((2, 2), jnp.float32)], "name": "x"})
    arrays = load_file(tmp_path / "w")
    assert {name: (str(a.dtype), a.shape) for name, a in arrays.items()} == {
        "a": ("float64", (4,)),
        "b.0": ("float32", (2, 2)),
    }


def test_a_failed_export_leaves_the_old_file(tmp_path, monkeypatch):
    from leadline import _files

    file = tmp_path / "w.safetensors"
    training.save_weights(file, {"w": jnp.zeros(2)})
    before = file.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_files.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        training.save_weights(file, {"w": jnp.ones(2)})
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["w.safetensors"]


def test_metrics_are_json_lines(undisturbed):
    records = [json.loads(line) for line in undisturbed[1].decode().splitlines()]
    assert [record["epoch"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert set(records[0]) == {"epoch", "step", "loss", "gradient_norm"}
