"""`leadline train`: the run's directory, what is printed, and what is refused."""

import os
import signal
import subprocess
import sys
import time

import jsonschema
import pytest
from documented_json import schema, strict

CONFIG = """\
[data]
name = "digits"
validation = 0.2
[model]
kind = "mlp"
hidden = [16]
[training]
epochs = 3
rate = 0.01
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(CONFIG)
    return tmp_path / "small.toml"


def test_a_run_has_all_its_files_and_prints_the_test_accuracy(leadline, config, tmp_path):
    code, out, err = leadline("train", config)
    assert code == 0
    assert "digits, mlp with 1,210 parameters: test accuracy" in out
    assert err.splitlines()[-1].startswith("epoch 3: loss ")
    run = tmp_path / "runs" / "small"
    assert {"config.toml", "metrics.jsonl", "curves.svg", "checkpoints", "weights.safetensors", "result.json"} <= {
        p.name for p in run.iterdir()
    }
    assert (run / "config.toml").read_text() == CONFIG
    assert "<svg" in (run / "curves.svg").read_text()
    code, out, err = leadline("train", config)
    assert (code, out) == (2, "")
    assert "already holds a run" in err
    code, out, _ = leadline("train", config, "--resume", "--json")
    assert code == 0
    record = strict(out)
    jsonschema.validate(record, schema("train"))
    assert record["epochs"] == 3
    config.write_text(CONFIG.replace("0.01", "0.02"))
    code, out, err = leadline("train", config, "--resume")
    assert (code, out) == (2, "")
    assert "holds a run with training.rate = 0.01, not 0.02" in err


def test_the_example_can_be_read_back(leadline, tmp_path):
    from leadline.training.recipes import read_recipe

    code, out, err = leadline("train", "--example")
    assert (code, err) == (0, "")
    (tmp_path / "a.toml").write_text(out)
    assert read_recipe(tmp_path / "a.toml").kind == "mlp"


def test_a_loss_that_diverges_is_said_with_its_cause_and_exit_code_1(leadline, config, tmp_path):
    config.write_text(CONFIG.replace("rate = 0.01", 'rate = 1e30\noptimiser = "sgd"\nloss = "squared"'))
    code, out, err = leadline("train", config)
    assert (code, out) == (1, "")
    assert "The loss stopped being finite at step" in err
    assert "Likely cause" in err
    assert not (tmp_path / "runs" / "small" / "result.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("epochs = 3", "epocs = 3", "small.toml, line 8: There is no key in [training] 'epocs'; did you mean epochs?"),
        ('"digits"', '"digts"', "small.toml, line 2: There is no name 'digts'; did you mean digits?"),
        ("rate = 0.01", "rate = -1", "small.toml, line 9: rate = -1.0 is out of range; give more than 0."),
        ("[model]", "[model", "small.toml, line 4: this is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence_with_its_line(leadline, config, tmp_path, old, new, sentence):
    config.write_text(CONFIG.replace(old, new))
    code, out, err = leadline("train", config)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_other_mistakes_are_one_sentence(leadline, config, tmp_path):
    (tmp_path / "file").write_text("precious")
    for words, sentence in [
        ([], "Say what to train"),
        (["none.toml"], "There is no file none.toml"),
        ([config, "--out", tmp_path / "file"], "choose another directory"),
    ]:
        code, out, err = leadline("train", *words)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "precious"


def test_data_that_cannot_be_had_are_one_sentence_and_leave_a_run_that_can_start(leadline, config, monkeypatch):
    from leadline.data.sources import acquisition

    def run(command, folder, seconds=0):
        raise acquisition.SourceFailed("no network")

    monkeypatch.setattr(acquisition, "run_client", run)
    config.write_text(CONFIG.replace('"digits"', '"mnist"'))
    code, _, err = leadline("train", config)
    assert code == 2
    assert "Cannot get mnist" in err.splitlines()[-1]
    assert leadline("train", config, "--resume").err.splitlines()[-1] == err.splitlines()[-1]


def test_a_full_disk_is_said(leadline, config, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, _, err = leadline("train", config)
    assert code == 2
    assert "No space left on device" in err
    assert [p.name for p in (tmp_path / "runs" / "small").iterdir() if p.name != ".lock"] == []


def test_ctrl_c_says_how_to_go_on_and_the_run_goes_on(leadline, config, tmp_path):
    config.write_text(CONFIG.replace("epochs = 3", "epochs = 100000") + "[run]\nevery = 5\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "leadline", "train", str(config)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background have it ignored
    )
    metrics = tmp_path / "runs" / "small" / "metrics.jsonl"

    def checkpoints():
        return [int(p.name) for p in metrics.parent.glob("checkpoints/*") if p.name.isdigit()]

    while not checkpoints() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "leadline: stopped; the same command with --resume goes on from here."
    assert "Traceback" not in err
    assert 1 <= max(checkpoints()) <= len(metrics.read_text().splitlines()) < 100000
