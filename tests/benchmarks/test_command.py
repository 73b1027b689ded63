"""./run bench: bad input in a sentence, the guard's exit code, suites that are well formed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmarks.__main__ as command
from benchmarks import claims
from benchmarks.harness import contest
from benchmarks.harness.case import Case, Growth, Side
from benchmarks.harness.environments import RIVALS, packages
from benchmarks.harness.results import Results
from benchmarks.suites import SUITES, suite

ROOT = Path(__file__).parents[2]
CASES = [case for name in SUITES for case in getattr(suite(name), "CASES", [])]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["trainin"], "There is no suite 'trainin'; did you mean training?"),
        (["--repetitions", "2"], "--repetitions 2 is too few for an interval; give at least 3."),
        (["robustness", "--case", "deepfool"], "no case of robustness has 'deepfool' in its name; docs/ lists them."),
        (
            ["--quick", "--out", "nowhere"],
            "there is no nowhere/benchmarks.json to compare with; run without --quick first.",
        ),
        (
            ["--page", "--out", "nowhere"],
            "there is no nowhere/benchmarks.json to write the page of; run without --page first.",
        ),
        (["--page", "training"], "--page writes the whole page; it takes no suite, --case or --repetitions."),
    ],
    ids=["suite", "repetitions", "case", "table", "page", "part of a page"],
)
def test_bad_input_is_refused_in_a_sentence(arguments, sentence):
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"bench: error: {sentence}"


def test_every_case_has_leadline_first_a_rival_and_pinned_environments():
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.sides[0].name == "Leadline"
        assert case.sides[0].environment == ""
        assert isinstance(case, Growth) or len(case.sides) > 1
        for side in case.sides:
            path = ROOT / f"{side.program.replace('.', '/')}.py"
            assert f"def {side.make}(" in path.read_text(), side
            assert not side.environment or packages(side.environment)


def test_every_package_of_the_rivals_is_pinned():
    for file in RIVALS.glob("*.txt"):
        lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
        assert len(lines) == len(packages(file.stem))


def test_results_are_written_and_the_guard_names_what_got_worse(tmp_path, monkeypatch, capsys):
    samples = "tests.benchmarks.sample_sides"

    def leadline_takes(seconds):
        ours = Side("Leadline", samples, "sums", settings={"takes": seconds})
        rival = Side("rival", samples, "sums", settings={"takes": 6.0})
        monkeypatch.setattr(suite("robustness"), "CASES", [Case("sums", (ours, rival), lambda: {"x": np.ones(3)})])

    monkeypatch.setattr(contest, "PAUSE", 0.0)
    monkeypatch.setattr(command, "limits", lambda: {"float32": 1.0, "float64": 1.0, "bandwidth": 1.0})
    leadline_takes(1.0)
    assert command.full(["robustness"], "", 3, tmp_path) == 0
    kept = Results(tmp_path / "benchmarks.json")
    assert kept.find("sums").ratio == pytest.approx(6.0)
    assert "sums" in (tmp_path / "benchmarks.md").read_text()
    assert command.quick(["robustness"], "", 3, tmp_path) == 0
    assert "Nothing got worse by more than 30%." in capsys.readouterr().out
    leadline_takes(5.0)
    assert command.quick(["robustness"], "", 3, tmp_path) == 1
    assert "worse by more than 30%: sums: 1.20 times rival, was 6.00" in capsys.readouterr().err
    assert Results(tmp_path / "benchmarks.json").suites == kept.suites  # the guard writes nothing


def test_the_page_is_written_again_with_the_reasons_and_cases_of_now(tmp_path, monkeypatch):
    def robustness_has(*cases):
        monkeypatch.setattr(suite("robustness"), "CASES", [_missed(name, reason) for name, reason in cases])

    monkeypatch.setattr(contest, "PAUSE", 0.0)
    monkeypatch.setattr(command, "limits", lambda: {"float32": 1.0, "float64": 1.0, "bandwidth": 1.0})
    robustness_has(("kept", ""), ("gone", ""))
    command.full(["robustness"], "", 3, tmp_path)
    stored, page = tmp_path / "benchmarks.json", tmp_path / "benchmarks.md"
    assert "- kept: not profiled yet.\n- gone: not profiled yet.\n" in page.read_text()
    before = stored.read_bytes()
    robustness_has(("kept", "The hardware."))
    assert command.page(tmp_path) == 0
    assert "- kept: The hardware.\n" in page.read_text()
    assert "gone" not in page.read_text()
    assert stored.read_bytes() == before


def _missed(name, reason):
    sides = tuple(Side(who, "tests.benchmarks.sample_sides", "sums") for who in ("Leadline", "rival"))
    return Case(name, sides, lambda: {"x": np.ones(3)}, asked=2.0, reason=reason)


def test_the_suite_of_claims_names_what_it_measures(monkeypatch):
    monkeypatch.setattr(claims, "_checked", lambda jobs, cache: 1.0)
    assert [outcome.case for outcome in claims.measure(lambda what: None)] == list(claims.REASONS)
