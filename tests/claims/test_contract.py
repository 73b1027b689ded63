"""The one contract that every entry of every chapter keeps, checked for all of them."""

import importlib
import json
import re
from collections import Counter

import pytest

import leadline.claims
from leadline.claims import INDEX
from leadline.claims.indexing import indexed
from leadline.evidence import entries
from leadline.presentation.mathematics import mathml

leadline.claims.load()
ENTRIES = [e for e in entries() if e.module.startswith("leadline.")]
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.id)


@every_entry
def test_its_text_is_for_people(entry):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert 3 <= len(entry.title) <= 70
    assert not entry.title.endswith(".")
    first = entry.statement.split()[0]
    assert first[0].isupper() or not first.isalpha() or len(first) == 1  # a sentence may begin with a symbol
    assert entry.statement.endswith(".")
    assert len(entry.statement) <= 600
    assert entry.sources


@every_entry
def test_the_mathematics_in_its_sentences_is_written_as_mathematics(entry):
    for text in (entry.statement, entry.check, *entry.assumes):
        outside = re.sub(r"\$[^$]*\$|`[^`]*`", "", text)
        assert "$" not in outside
        assert not re.search(r"\\[a-zA-Z]|\^|_\{|\|\||<=|>=|->|binom\(|sqrt\(|sum_|\w_\w", outside), outside
        for formula in re.findall(r"\$([^$]+)\$", text):
            assert_shown(formula)


@every_entry
def test_its_assumptions_can_be_listed(entry):
    assert all(a and ";" not in a and not a.endswith(".") for a in entry.assumes)


def test_titles_are_unique():
    titles = Counter(e.title.casefold() for e in ENTRIES)
    assert [title for title, n in titles.items() if n > 1] == []


def test_the_index_is_what_the_modules_declare():
    assert json.loads(INDEX.read_text(encoding="utf-8")) == json.loads(json.dumps(indexed())), (
        "The index is stale: run `python -m leadline.claims.indexing`."
    )


@every_entry
def test_its_formula_can_be_shown(entry):
    if entry.formula:
        assert_shown(entry.formula)


def assert_shown(formula):
    shown = mathml(formula)
    assert shown.startswith("<math")
    assert not re.search(r"\\[a-zA-Z]", re.sub(r"<annotation.*?</annotation>", "", shown, flags=re.S))


@every_entry
def test_its_parameters_are_few(entry):
    assert len(entry.parameters) <= 6


def library_object(name):
    package, _, thing = name.rpartition(".")
    module = importlib.import_module(f"leadline.{package}")
    assert thing in module.__all__, f"{name} is not public"
    return getattr(module, thing)


@every_entry
def test_the_library_objects_it_shows_are_public_and_explain_themselves(entry):
    shown = {name: library_object(name) for name in entry.shows}
    assert [name for name, thing in shown.items() if not thing.__doc__] == []
    if entry.kind != "claim":
        assert any(">>>" in thing.__doc__ for thing in shown.values()), "none of them has a runnable example"
