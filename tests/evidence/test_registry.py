"""The registry: lookup by id, chapter, kind and words."""

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import BadInput, Entry, claim, entries, entry, exactly


def test_a_wrong_id_names_the_nearest():
    with pytest.raises(BadInput, match=r"There is no entry 'sample-hold'; did you mean .*sample-holds"):
        entry("sample-hold")


def test_wrong_chapters_and_kinds_are_said():
    with pytest.raises(BadInput, match="There is no chapter 'nowhere'"):
        entries(chapter="nowhere")
    with pytest.raises(BadInput, match=r"There is no kind 'clam'; did you mean claim"):
        entries(kind="clam")


def test_every_word_must_occur():
    assert [e.id for e in entries(text="LOADED coin")] == ["sample-loaded-coin"]
    assert entries(text="loaded dice") == []


def test_a_module_outside_the_curriculum_is_a_chapter_of_its_own():
    assert entry("sample-holds").chapter == "sample_claims"
    assert {e.id for e in entries(chapter="sample_claims", kind="claim")} >= {"sample-holds", "sample-crash"}


def test_an_id_declared_twice_is_refused():
    with pytest.raises(TypeError, match="declared twice"):

        @claim()
        def sample_holds(key):
            """Again."""
            yield exactly(1, 1, "one")


def test_an_unknown_source_is_refused():
    with pytest.raises(TypeError, match="There is no source 'mit'"):

        @claim(sources=("mit",))
        def sample_new(key):
            """New."""
            yield exactly(1, 1, "one")


def test_the_docstring_is_the_statement_and_the_name_the_id():
    found = entry("sample-holds")
    assert (found.title, found.statement, found.formula) == (
        "Sample holds",
        "A uniform number is at most 1.",
        r"U \le 1",
    )


def test_an_entry_of_an_index_runs_as_its_module_declares_it():
    known = entry("sample-unmet")
    indexed = Entry.from_json(known.to_json())
    assert indexed == known  # but for the function, which is imported when it runs
    assert [c.verdict for c in indexed.run(None, n=7)] == ["holds"]
