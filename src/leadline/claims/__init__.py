"""The curriculum as executable statements, one package per chapter."""

import functools
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHAPTERS = (
    "neurons",
    "networks",
    "learning",
    "kernels",
    "tangent",
    "optimisation",
    "stochastic",
    "landscape",
    "regularisation",
    "generalisation",
    "bayes",
    "robustness",
    "convolution",
    "geometry",
    "sequences",
)
INDEX = Path(__file__).with_name("index.json")


def modules() -> Iterator[str]:
    """The modules that declare entries, in reading order: chapter by chapter, section by section."""
    for chapter in CHAPTERS:
        for section in importlib.import_module(f"{__name__}.{chapter}").SECTIONS:
            package = f"{__name__}.{chapter}.{section}"
            yield from (f"{package}.{module}" for module in importlib.import_module(package).MODULES)


@functools.cache
def load() -> None:
    """Make every entry known, from the index of the package: no chapter is imported before one of its entries runs."""
    from leadline.evidence.registry import Entry, declare

    declare(map(Entry.from_json, json.loads(INDEX.read_text(encoding="utf-8"))))


def check(id: str, /, *, seed: int = 0, **parameters: Any):
    """Run one entry here and return its `Finding`; a notebook shows it with its figures.

    >>> finding = check("margin-sign")
    >>> str(finding.verdict)
    'holds'
    """
    from leadline.evidence import entry, run_entry

    load()
    return run_entry(entry(id), parameters, seed)
