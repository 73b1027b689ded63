"""The public surface: few names, each exported by one package, each explained."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import leadline
from leadline.presentation.library import library_object, library_packages

TOP = Path(leadline.__file__).parent
LIMIT = 120  # names of one package


def exported() -> Iterator[tuple[str, str]]:
    """Package and name of everything that a stub takes from a module, in the library and in the product."""
    for stub in sorted(TOP.rglob("__init__.pyi")):
        package = ".".join(stub.parent.relative_to(TOP.parent).parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((package, alias.name) for alias in node.names)


@pytest.mark.parametrize("package", library_packages())
def test_a_package_has_not_too_many_public_names(package):
    assert len(library_packages()[package].names) <= LIMIT


def test_no_name_is_exported_by_two_packages():
    places: dict[str, list[str]] = {}
    for package, name in exported():
        places.setdefault(name, []).append(package)
    assert {name: packages for name, packages in places.items() if len(packages) > 1} == {}


@pytest.mark.parametrize("package", library_packages())
def test_every_public_name_exists_and_has_a_page_with_its_documentation(package):
    module = importlib.import_module(f"leadline.{package}")
    for name in library_packages()[package].names:
        found = library_object(f"{package}.{name}")
        assert found.signature
        assert found.text or not callable(getattr(module, name)), f"{package}.{name} is not documented"
