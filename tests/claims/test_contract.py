"""The one contract that every entry of every chapter keeps, checked for all of them."""

import importlib
import re

import pytest

import leadline.claims
from leadline.evidence import entries
from leadline.evidence.gallery import mathml

leadline.claims.load()
ENTRIES = [e for e in entries() if e.module.startswith("leadline.")]
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.id)


@every_entry
def test_its_text_is_for_people(entry):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    first = entry.says.split()[0]
    assert first[0].isupper() or not first.isalpha() or len(first) == 1  # a sentence may begin with a symbol
    assert entry.says.endswith(".")
    assert len(entry.says) <= 400
    assert entry.sources


@every_entry
def test_its_formula_can_be_shown(entry):
    if entry.formula:
        shown = mathml(entry.formula)
        assert shown.startswith("<math")
        assert not re.search(r"\\[a-zA-Z]", re.sub(r"<annotation.*?</annotation>", "", shown, flags=re.S))


@every_entry
def test_its_parameters_are_few(entry):
    assert len(entry.parameters) <= 6


def library_object(name):
    room, _, thing = name.rpartition(".")
    module = importlib.import_module(f"leadline.{room}")
    assert thing in module.__all__, f"{name} is not public"
    return getattr(module, thing)


@every_entry
def test_the_library_objects_it_shows_are_public_and_explain_themselves(entry):
    shown = {name: library_object(name) for name in entry.shows}
    assert [name for name, thing in shown.items() if not thing.__doc__] == []
    if entry.kind != "claim":
        assert any(">>>" in thing.__doc__ for thing in shown.values()), "none of them has a runnable example"
