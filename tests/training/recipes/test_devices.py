"""`leadline train` on what the environment says: wrong words are named, and two processes train as one does."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from leadline.training.recipes import devices

RECIPE = """
data = {name = "digits"}
model = {kind = "linear"}
training = {epochs = 3, batch = 64, optimiser = "sgd", rate = 0.05}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"LEADLINE_DEVICES": "some"}, "choose one of one, all, cluster"),
        ({"LEADLINE_DEVICES": "cluster", "LEADLINE_PROCESSES": "two"}, "give a whole number"),
    ],
)
def test_wrong_words_in_the_environment_are_named(monkeypatch, change, message):
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message):
        devices.join_cluster()


def start(recipe, out, *options, **environment):
    command = [sys.executable, "-m", "leadline", "train", str(recipe), "--out", str(out), *options]
    return subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def in_two_processes(recipe, out, *options):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    shared = {"LEADLINE_DEVICES": "cluster", "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}", "LEADLINE_PROCESSES": "2"}
    runs = [start(recipe, out, *options, **shared, LEADLINE_PROCESS=str(process)) for process in range(2)]
    for run in runs:
        _, err = run.communicate(timeout=100)
        assert run.returncode == 0, err


@pytest.mark.slow
def test_two_processes_write_one_run_that_is_resumed(tmp_path):
    from safetensors.numpy import load_file

    recipe = tmp_path / "mine.toml"
    recipe.write_text(RECIPE)
    run = start(recipe, tmp_path / "alone")
    _, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    in_two_processes(recipe, tmp_path / "both")
    in_two_processes(recipe, tmp_path / "both", "--resume")
    alone, both = (load_file(tmp_path / name / "weights.safetensors") for name in ("alone", "both"))
    for name, values in alone.items():
        np.testing.assert_allclose(both[name], values, rtol=1e-4, atol=1e-5)
    assert (tmp_path / "both" / "metrics.jsonl").read_text().count("\n") == 3
