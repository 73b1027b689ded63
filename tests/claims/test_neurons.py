"""The chapter `neurons`: every entry is there, runs at its defaults, and comes out as theory says."""

from pathlib import Path

import pytest

import leadline.claims
from leadline.evidence import Task, entries, entry, run_tasks

CURRICULUM = dict(line.split(": ") for line in (Path(__file__).parent / "neurons.txt").read_text().splitlines())

leadline.claims.load()


def test_the_chapter_has_every_entry_of_the_curriculum_with_its_kind():
    assert {e.id: e.kind for e in entries(chapter="neurons")} == CURRICULUM


@pytest.fixture(scope="module")
def findings():
    tasks = [Task.of(e) for e in entries(chapter="neurons")]
    return {f.id: f for f in run_tasks(tasks, jobs=2, timeout=120)}


@pytest.mark.parametrize("id", CURRICULUM)
def test_it_comes_out_as_theory_says(findings, id):
    finding = findings[id]
    assert finding.error == ""
    assert [
        f"{c.what}: {c.measured} {c.relation} {c.predicted}" for c in finding.comparisons if not c.as_expected
    ] == []
    assert str(finding.verdict) == "holds"


@pytest.mark.parametrize("id", CURRICULUM)
def test_it_shows_a_picture_where_the_curriculum_asks_for_one(findings, id):
    without = {"dual-prediction", "margin-sign", "separability-lp", "general-position", "cover-shattering",
               "hebbian-storage", "projection-storage", "hopfield-effective-field"}  # fmt: skip
    if id not in without:
        assert findings[id].figures


PRINTED = (
    "spiking-neuron", "ridge-unit-level-sets", "linear-threshold-classifier", "hyperplane-distance",
    "perceptron-tie-rule", "perceptron-zigzag", "margin", "novikoff-bound", "single-pass-generalisation",
    "cover-count", "cover-capacity-transition", "hopfield-network", "hebbian-storage", "hopfield-crosstalk-identity",
    "hopfield-bit-flip", "hopfield-capacity-transition", "hopfield-capacity-log-bound", "hopfield-digit-denoising",
    "channel-coding-pipeline",
)  # fmt: skip


@pytest.mark.parametrize("id", PRINTED)
def test_the_form_that_a_source_prints_wrongly_fails_beside_the_right_one(findings, id):
    printed = [c for c in findings[id].comparisons if c.printed_by and not c.unmet]
    assert printed
    assert {c.printed_by for c in printed} <= set(entry(id).sources)
