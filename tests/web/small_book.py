"""A small book, of the sample entries, and how its pages are read in tests."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_claims  # noqa: F401 - declares the entries
from html_pages import Page

from leadline.evidence import Finding, entries, entry, registry, run_entry
from leadline.presentation.library import library_packages, offer
from leadline.web.book import write_book
from leadline.web.drawings import Drawings
from leadline.web.pages import site

CHAPTER = "sample_claims"


@contextlib.contextmanager
def only_sample_entries() -> Iterator[None]:
    """A registry without the curriculum, and three packages of the library: the book of all takes long to write."""
    shown = ("linear_classifiers", "linear_classifiers.perceptrons", "probability")
    packages = {name: library_packages()[name] for name in shown}
    with pytest.MonkeyPatch.context() as patch:
        for module in (offer, site):
            patch.setattr(module, "library_packages", lambda: packages)
        patch.setattr(registry, "_ENTRIES", {e.id: e for e in entries(chapter=CHAPTER)})
        yield


def some_findings() -> list[Finding]:
    """One that holds with a figure and an erratum, one whose assumption is not met, one that crashed."""
    ran = [run_entry(entry(id)) for id in ("sample-holds", "sample-unmet", "sample-erratum-holds")]
    return [*ran, Finding("sample-crash", {}, 0, error="its worker process died <3>")]


def write_small_book(out: Path, findings: list[Finding], kept: Path) -> None:
    write_book(out, findings, Drawings(kept))


def pages_of(book: Path) -> dict[Path, Page]:
    return {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in book.rglob("*.html")}
