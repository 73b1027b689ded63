"""Every chapter: each entry of the curriculum is there, runs at its defaults, and comes out as theory says.

An empirical comparison, which is no theory, may fail: then the finding is not confirmed, and says so.

The lists beside this file say for each id its kind, whether the curriculum asks for a figure, and whether a source
has an erratum of it; `vacuous` marks a bound that must be found to say nothing. `heavy.txt` has entries that take long
to compile and run from nothing (measure_costs.py writes it); they are left to the slow tests, as are those that say
themselves that they are slow.
"""

import importlib
import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import leadline.claims
from leadline.evidence import Task, Workers, entries, entry

CURRICULUM = {
    chapter: {
        id: words.split()
        for id, words in (
            line.split(": ") for line in Path(__file__).with_name(f"{chapter}.txt").read_text().splitlines()
        )
    }
    for chapter in leadline.claims.CHAPTERS
}
HEAVY = {line.split()[0] for line in Path(__file__).with_name("heavy.txt").read_text().splitlines()}

# An erratum that is a matter of words (a wrong citation, a promised explanation) and has nothing to compute.
WORDS_ALONE = {
    "activation-comparison-at-depth",
    "deep-rnn-variants",
    "dense-network",
    "lru-universality",
    "scheduled-sampling",
}

leadline.claims.load()


def left_to_the_slow_tests(id: str) -> bool:
    return id in HEAVY or bool(entry(id).slow)


CASES = [
    pytest.param(id, words, id=id, marks=[pytest.mark.slow] if left_to_the_slow_tests(id) else [])
    for ids in CURRICULUM.values()
    for id, words in ids.items()
]


@pytest.mark.parametrize("chapter", CURRICULUM)
def test_the_chapter_has_every_entry_of_the_curriculum_with_its_kind(chapter):
    assert {e.id: e.kind for e in entries(chapter=chapter)} == {id: w[0] for id, w in CURRICULUM[chapter].items()}


@pytest.fixture(scope="module")
def workers():
    """One process for the entries of this one: as a user runs them, without the type checks of the tests."""
    with Workers(1) as started:
        yield started


@pytest.mark.parametrize(("id", "words"), CASES)
def test_it_comes_out_as_theory_says_with_the_figures_and_errata_of_the_curriculum(workers, id, words):
    task = Task.of(entry(id))
    (finding,) = workers.run_all([task], timeout=180)
    assert finding.error == ""
    assert finding.comparisons
    assert [c.what for c in finding.comparisons if c.measured != c.measured] == []  # not a number is no measurement
    demanded = [c for c in finding.comparisons if c.as_expected or not c.empirical]
    assert [f"{c.what}: {c.measured} {c.relation} {c.predicted}" for c in demanded if not c.as_expected] == []
    if demanded:
        of_these = replace(finding, comparisons=tuple(demanded))
        assert str(of_these.verdict) == ("vacuous" if "vacuous" in words else "holds")
    if "figure" in words:
        assert finding.figures
    if "erratum" in words and id not in WORDS_ALONE:
        errata_fail_beside_the_repaired_form(finding)


def errata_fail_beside_the_repaired_form(finding):
    errata = [c.erratum for c in finding.comparisons if c.erratum and not c.unmet]
    assert errata
    assert {e.by for e in errata} <= set(entry(finding.id).sources)
    assert {e.of for e in errata} <= {c.what for c in finding.comparisons if not c.erratum}


@pytest.mark.parametrize("chapter", CURRICULUM)
def test_no_erratum_is_in_the_product_that_the_curriculum_does_not_have(chapter):
    accused = {e.id for e in entries(chapter=chapter) if "erratum(" in inspect.getsource(function_of(e))}
    assert accused <= {id for id, words in CURRICULUM[chapter].items() if "erratum" in words}


def function_of(entry):
    return getattr(importlib.import_module(entry.module), entry.run.__name__)
