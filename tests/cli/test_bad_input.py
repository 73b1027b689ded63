"""Bad input gets one clear sentence on stderr and exit code 2: no traceback, no half-written file."""

import json
import multiprocessing
import os
import subprocess
import sys
from typing import get_args, get_type_hints

import pytest

from leadline.cli.app import app
from leadline.cli.settings import finite
from leadline.evidence import Finding, RunDirectory


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
        (["study", "--momentum", "inf"], "inf is not a finite number"),
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
    assert "Cannot write" in err or "is a directory where a file is expected" in err
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


def occupy(path, by):
    if by == "a directory":
        path.mkdir()
    elif by == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)


RECIPE = 'data.name = "digits"\nmodel.kind = "linear"\ntraining.epochs = 1\n'


@pytest.mark.parametrize("by", ["a directory", "a pipe", "a cycle of links"])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["check", "gelu", "--out", "{}"], "findings.jsonl"),
        (["check", "gelu", "--fresh", "--out", "{}"], "findings.jsonl"),
        (["book", "--out", "{}-book", "--findings", "{}"], "findings.jsonl"),
        (["study", "linear", "--only", "anatomy", "--out", "{}"], "cards.jsonl"),
        (["study", "linear", "--only", "anatomy", "--fresh", "--out", "{}"], "cards.jsonl"),
        (["train", "recipe.toml", "--out", "{}"], "config.toml"),
        (["train", "recipe.toml", "--out", "{}"], "metrics.jsonl"),
        (["train", "recipe.toml", "--out", "{}"], "weights.safetensors"),
        (["train", "recipe.toml", "--resume", "--out", "{}"], "metrics.jsonl"),
    ],
)
def test_what_is_no_file_where_a_run_keeps_one_is_named_and_left(leadline, tmp_path, monkeypatch, words, name, by):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    target = tmp_path / "out"
    target.mkdir()
    occupy(target / name, by)
    before = os.lstat(target / name)
    code, out, err = leadline(*(word.format(target) for word in words))
    assert (code, out) == (2, "")
    assert f"{name} is {by}" in err
    assert err.count("\n") == 1
    assert os.lstat(target / name).st_ino == before.st_ino


def finding_line(**other) -> str:
    return json.dumps(Finding("gelu", {}, 0, error="none").to_json() | other)


STRANGE = {
    "parameters as a list": finding_line(parameters=[1]),
    "a list as a parameter": finding_line(parameters={"a": [1]}),
    "figures as a number": finding_line(figures=3),
    "a figure without a chart": finding_line(figures=[{"title": "t", "spec": 3}]),
    "seconds as text": finding_line(seconds="long"),
    "comparisons as a text": finding_line(comparisons="none"),
    "thousands of brackets": "[" * 100_000,
    "thousands of brackets in a finding": finding_line().replace("[]", "[" * 5000 + "]" * 5000),
    "a number": "3",
    "no text": "\udcff",
}


@pytest.mark.parametrize("what", STRANGE)
def test_json_of_another_shape_is_named_and_kept(leadline, tmp_path, what, runs_here):
    line = STRANGE[what].encode("utf-8", "surrogateescape") + b"\n"
    (tmp_path / "findings.jsonl").write_bytes(line)
    code, _, err = leadline("check", "gelu", "--out", tmp_path)
    assert code == 0
    assert "1 damaged line in" in err
    assert (tmp_path / "findings.jsonl").read_bytes().startswith(line)
    assert [f.id for f in RunDirectory(tmp_path).findings()] == ["gelu"]
    assert leadline("check", "gelu", "--out", tmp_path).err.count("1 findings taken") == 1


def test_a_line_of_another_shape_is_no_finding_where_types_are_not_checked_as_in_these_tests():
    script = """
import json, sys
from leadline._records import UNREADABLE
from leadline.evidence import Finding
for name, line in json.load(sys.stdin).items():
    try:
        Finding.loads(line)
    except UNREADABLE:
        print(name)
"""
    given = json.dumps({"fine": finding_line()} | STRANGE)
    seen = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines() == list(STRANGE)


def test_cards_of_another_shape_are_passed_over_and_kept(leadline, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("study", "linear", "--only", "anatomy", "--out", tmp_path)
    assert leadline(*words).code == 0
    cards = tmp_path / "cards.jsonl"
    record = json.loads(cards.read_text())
    damaged = [record["card"] | {"numbers": 3}, record["card"] | {"meaning": {"sentence": 3}}, [record], "x"]
    text = "".join(json.dumps(record | {"card": card}) + "\n" for card in damaged) + "[" * 5000 + "\n3\n"
    cards.write_text(text)
    assert leadline(*words).code == 0
    assert cards.read_text().startswith(text)
    assert json.loads(cards.read_text().splitlines()[-1])["card"]["numbers"] == record["card"]["numbers"]


@pytest.mark.parametrize("line", ["[1]", '{"epoch": 1, "loss": "small"}', '{"epoch": 1, "loss": [1]}', "[" * 9000])
def test_metrics_of_another_shape_end_a_resumption_in_one_sentence_and_are_kept(leadline, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    assert leadline("train", "recipe.toml", "--out", "run").code == 0
    (tmp_path / "run" / "metrics.jsonl").write_text(line + "\n")
    code, _, err = leadline("train", "recipe.toml", "--resume", "--out", "run")
    assert code == 2
    assert "metrics.jsonl has 0 whole records" in err
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == line + "\n"
