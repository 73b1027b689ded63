"""A run killed at any moment and resumed ends with the bits of a run that was left alone."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).with_name("interrupted_run.py")
FORM = Path(__file__).with_name("engine") / "interrupted_form.py"
ROOT = Path(__file__).parents[2]
EPOCHS = 12


def start(directory, form=None):
    program = [str(PROGRAM)] if form is None else ["-m", ".".join(FORM.relative_to(ROOT).with_suffix("").parts)]
    command = [sys.executable, *program, str(directory), str(EPOCHS), *([] if form is None else [form])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def weights(directory):
    from leadline.training import Checkpoints

    with Checkpoints(directory / "checkpoints") as checkpoints:
        assert checkpoints.epochs()[-1] == EPOCHS
        return checkpoints._read(EPOCHS)[1]


def killed_and_resumed(directory, moments, form):
    """Start the run again and again; kill it as many seconds after its first new line of metrics, then let it end."""
    metrics = directory / "metrics.jsonl"
    for moment in moments:
        run = start(directory, form)
        lines = metrics.read_text().count("\n") if metrics.exists() else 0
        while run.poll() is None and not (metrics.exists() and metrics.read_text().count("\n") > lines):
            time.sleep(0.005)
        time.sleep(moment)
        run.send_signal(signal.SIGKILL)
        run.communicate()
    out, err = start(directory, form).communicate(timeout=300)
    assert out == "finished\n", err
    return metrics.read_bytes(), weights(directory)


def assert_identical(tmp_path, moments, form=None):
    out, err = start(tmp_path / "alone", form).communicate(timeout=300)
    assert out == "finished\n", err
    alone = (tmp_path / "alone" / "metrics.jsonl").read_bytes(), weights(tmp_path / "alone")
    metrics, arrays = killed_and_resumed(tmp_path / "killed", moments, form)
    assert metrics == alone[0]
    assert arrays.keys() == alone[1].keys()
    assert all(np.array_equal(arrays[name], alone[1][name]) for name in arrays)


@pytest.mark.slow
def test_a_kill_leaves_no_trace(tmp_path):
    assert_identical(tmp_path, [0.02])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["state", "modes", "players"])
def test_a_kill_leaves_no_trace_in_batch_statistics_averages_and_players(form, tmp_path):
    assert_identical(tmp_path, [0.02], form)


@pytest.mark.slow
def test_twenty_kills_at_random_moments_leave_no_trace(tmp_path):
    rng = random.Random(0)
    assert_identical(tmp_path, [rng.uniform(0, 0.12) for _ in range(20)])
