"""Every chapter: each entry of the curriculum is there, runs at its defaults, and comes out as theory says.

The lists beside this file say for each id its kind, whether the curriculum asks for a figure, and whether a source
has an erratum of it; `vacuous` marks a bound that must be found to say nothing. `heavy.txt` has entries that take long
to compile and run from nothing (measure_costs.py writes it); they are left to the slow tests, as are those that say
themselves that they are slow.
"""

import importlib
import inspect
from pathlib import Path

import pytest

import leadline.claims
from leadline.evidence import Task, entries, entry, run_tasks

CURRICULUM = {
    chapter: {
        id: words.split()
        for id, words in (
            line.split(": ") for line in Path(__file__).with_name(f"{chapter}.txt").read_text().splitlines()
        )
    }
    for chapter in leadline.claims.CHAPTERS
}
EVERY = [(chapter, id) for chapter, ids in CURRICULUM.items() for id in ids]

HEAVY = {line.split()[0] for line in Path(__file__).with_name("heavy.txt").read_text().splitlines()}

# An erratum that is a matter of words (a wrong citation, a promised explanation) and has nothing to compute.
WORDS_ALONE = {"activation-comparison-at-depth", "dense-network"}

leadline.claims.load()


def left_to_the_slow_tests(id: str) -> bool:
    return id in HEAVY or bool(entry(id).slow)


def having(word: str = ""):
    """The entries that the curriculum marks with a word, as parameters of a test; slow ones are for the slow tests."""
    chosen = [(chapter, id) for chapter, id in EVERY if not word or word in CURRICULUM[chapter][id]]
    marks = {id: [pytest.mark.slow] if left_to_the_slow_tests(id) else [] for _, id in chosen}
    cases = [
        pytest.param(chapter, id, id=id, marks=marks[id]) for chapter, id in chosen if id not in WORDS_ALONE or not word
    ]
    return pytest.mark.parametrize(("chapter", "id"), cases)


@pytest.mark.parametrize("chapter", CURRICULUM)
def test_the_chapter_has_every_entry_of_the_curriculum_with_its_kind(chapter):
    assert {e.id: e.kind for e in entries(chapter=chapter)} == {id: w[0] for id, w in CURRICULUM[chapter].items()}


@pytest.fixture(scope="module")
def findings(request):
    slow = request.config.getoption("-m") == "slow"
    tasks = [Task.of(entry(id)) for _, id in EVERY if left_to_the_slow_tests(id) == slow]
    return {f.id: f for f in run_tasks(tasks, jobs=2, timeout=1800 if slow else 180)}


@having()
def test_it_comes_out_as_theory_says(findings, chapter, id):
    finding = findings[id]
    assert finding.error == ""
    assert [
        f"{c.what}: {c.measured} {c.relation} {c.predicted}" for c in finding.comparisons if not c.as_expected
    ] == []
    assert str(finding.verdict) == ("vacuous" if "vacuous" in CURRICULUM[chapter][id] else "holds")


@having("figure")
def test_it_shows_a_picture_where_the_curriculum_asks_for_one(findings, chapter, id):
    assert findings[id].figures


@having("erratum")
def test_the_erratum_of_a_source_fails_beside_the_repaired_form(findings, chapter, id):
    comparisons = findings[id].comparisons
    errata = [c.erratum for c in comparisons if c.erratum and not c.unmet]
    assert errata
    assert {e.by for e in errata} <= set(entry(id).sources)
    assert {e.of for e in errata} <= {c.what for c in comparisons if not c.erratum}


@pytest.mark.parametrize("chapter", CURRICULUM)
def test_no_erratum_is_in_the_product_that_the_curriculum_does_not_have(chapter):
    accused = {e.id for e in entries(chapter=chapter) if "erratum(" in inspect.getsource(function_of(e))}
    assert accused <= {id for id, words in CURRICULUM[chapter].items() if "erratum" in words}


def function_of(entry):
    return getattr(importlib.import_module(entry.module), entry.run.__name__)
