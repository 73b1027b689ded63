"""Bad input gets one clear sentence on stderr and exit code 2: no traceback, no half-written file."""

import multiprocessing
import os
from typing import get_args, get_type_hints

import pytest

from leadline.cli.app import app
from leadline.cli.settings import finite


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check", "novikof-bound"], "There is no entry 'novikof-bound'; did you mean novikoff-bound"),
        (["check"], "Say what to run"),
        (["check", "novikoff-bound", "--all"], "Say what to run"),
        (["check", "--chapter", "neuron"], "There is no chapter 'neuron'; did you mean neurons?"),
        (["check", "novikoff-bound", "--set", "margin=2"], "margin = 2 is outside its range"),
        (["check", "novikoff-bound", "--set", "margin=nan"], "margin = nan is not a finite number"),
        (["check", "novikoff-bound", "--set", "margin=wide"], "margin = 'wide' is not a number"),
        (["check", "novikoff-bound", "--set", "margin"], "does not say NAME=VALUE"),
        (["check", "novikoff-bound", "--set", "margn=0.1"], "did you mean margin?"),
        (["check", "novikoff-bound", "--seed", "-1"], "--seed"),
        (["check", "novikoff-bound", "--seed", "one"], "--seed"),
        (["check", "novikoff-bound", "--jobs", "many"], "--jobs"),
        (["check", "novikoff-bound", "--tmeout", "3"], "--timeout"),
        (["chek"], "Did you mean 'check'?"),
        (["falsify", "nothing-here"], "There is no entry 'nothing-here'"),
        (["falsify", "novikoff-bound", "--budget", "0"], "--budget"),
        (["claims", "--kind", "theorem"], "There is no kind 'theorem'"),
        (["cite", "novikof"], "did you mean novikoff-bound"),
        (["check", "path-barrier-bound", "--set", "largest="], "largest = '' is not a number; give one of 128, 256"),
        (["check", "sum-needs-double-width", "--set", "layers=5.04"], "layers = 5.04 is not a whole number"),
        (["data", "--"], "-- is followed by nothing"),
        (["study", "--step", "inf"], "inf is not a finite number"),
        (["check", "gelu", "--timeout", "inf"], "inf is not a finite number"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(leadline, arguments, sentence):
    code, out, err = leadline(*arguments)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert multiprocessing.active_children() == []  # a check has started its workers before it knows


def test_no_option_takes_a_number_that_is_not_finite():
    hints = [
        (command.callback.__name__, name, hint)
        for command in app.registered_commands
        for name, hint in get_type_hints(command.callback, include_extras=True).items()
        if name != "return"
    ]
    numbers = [(c, name, hint.__metadata__[0]) for c, name, hint in hints if "float" in str(get_args(hint)[0])]
    assert ("study", "step") in [(c, name) for c, name, _ in numbers]
    assert [(c, name) for c, name, option in numbers if option.callback is not finite] == []


@pytest.mark.parametrize("text", ["x" * 20_000, "x " * 10_000])
@pytest.mark.parametrize(
    "words",
    [
        ["check", "{}"],
        ["check", "novikoff-bound", "--set", "margin={}"],
        ["check", "novikoff-bound", "--set", "{}=1"],
        ["check", "novikoff-bound", "--set", "{}"],
        ["check", "gelu", "--out", "{}"],
        ["claims", "--kind", "{}"],
        ["data", "{}"],
        ["study", "{}"],
        ["train", "{}"],
        ["{}"],
    ],
)
def test_a_value_of_thousands_of_characters_is_cut(leadline, words, text):
    code, out, err = leadline(*(word.format(text) for word in words))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert " ... " in err
    assert len(err) < 1100


def test_an_out_that_is_a_file_is_refused_and_untouched(leadline, tmp_path):
    target = tmp_path / "taken"
    target.write_text("precious")
    code, _, err = leadline("check", "gelu", "--out", target)
    assert code == 2
    assert "choose another directory" in err
    assert target.read_text() == "precious"


@pytest.mark.parametrize("occupied", ["figures", "index.html"])
def test_an_out_whose_files_cannot_be_written_is_said(leadline, tmp_path, occupied, runs_here):
    """A file where a directory should be, and a directory where a file should be: root may write anything else."""
    target = tmp_path / "out"
    target.mkdir()
    (target / "figures").write_text("x") if occupied == "figures" else (target / "index.html").mkdir()
    code, _, err = leadline("check", "gelu", "--out", target)
    assert code == 2
    assert "Cannot write" in err
    assert err.count("\n") == 1
    assert (target / "findings.jsonl").read_text().count("\n") == 1


def test_a_full_disk_while_drawing_leaves_no_part_of_a_file(leadline, tmp_path, monkeypatch, runs_here):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, _, err = leadline("check", "gelu", "--out", tmp_path / "out")
    assert code == 2
    assert "No space left on device" in err
    assert [p for p in (tmp_path / "out").rglob("*") if p.suffix in (".part", ".svg", ".png")] == []


def test_a_damaged_line_is_reported_and_its_entry_runs_again(leadline, tmp_path, runs_here):
    out = tmp_path / "out"
    leadline("check", "gelu", "margin-sign", "--out", out)
    lines = (out / "findings.jsonl").read_text().splitlines()
    (out / "findings.jsonl").write_text(lines[0][: len(lines[0]) // 2] + "\n" + lines[1] + "\n")
    code, _, err = leadline("check", "gelu", "margin-sign", "--out", out)
    assert code == 0
    assert "1 damaged line" in err
    assert "1 findings taken" in err.replace("finding taken", "findings taken")
