"""The public surface: few names, each exported by one package, each explained."""

import importlib
from collections import Counter

import pytest

from leadline.presentation.library import library_object, library_packages

# The design names both: `training.fit` trains any model, `perceptrons.fit` runs Rosenblatt's algorithm.
TWICE = {"fit"}
LIMIT = 1100


def exported() -> list[tuple[str, str]]:
    return [(package.name, name) for package in library_packages().values() for name in package.names]


def test_there_are_not_too_many_public_names():
    assert len(exported()) <= LIMIT


def test_no_name_is_exported_by_two_packages():
    counts = Counter(name for _, name in exported())
    assert {name for name, n in counts.items() if n > 1} == TWICE


@pytest.mark.parametrize("package", library_packages())
def test_every_public_name_exists_and_has_a_page_with_its_documentation(package):
    module = importlib.import_module(f"leadline.{package}")
    for name in library_packages()[package].names:
        found = library_object(f"{package}.{name}")
        assert found.signature
        assert found.text or not callable(getattr(module, name)), f"{package}.{name} is not documented"
