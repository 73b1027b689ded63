"""All errata, by text and by chapter."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from leadline.evidence import SOURCES, Entry, Finding, entry
from leadline.presentation.gallery import comparison_rows

from .erratum_pairs import erratum_pairs


class ListedErratum(NamedTuple):
    """A form that a text has wrong, the comparison that shows it, and the one that holds in its place, if reached."""

    entry: Entry
    prints: str
    what: str
    sentence: str
    repaired: str
    repaired_sentence: str


class SourceErrata(NamedTuple):
    """What one text prints wrongly, by the chapters of this book."""

    name: str
    citation: str
    count: int
    chapters: dict[str, list[ListedErratum]]


def errata(findings: Iterable[Finding]) -> list[SourceErrata]:
    """The errata in the findings, by text in the order of the sources; each form of an entry once."""
    found: dict[str, dict[str, list[ListedErratum]]] = {}
    seen: set[tuple[str, str, str]] = set()
    for finding in findings:
        for source, listed in _listed(finding):
            if (source, finding.id, listed.prints) not in seen:
                seen.add((source, finding.id, listed.prints))
                chapters = found.setdefault(source, {})
                chapters.setdefault(listed.entry.chapter.capitalize(), []).append(listed)
    return [_source(name, found[name]) for name in sorted(found, key=_rank)]


def _listed(finding: Finding) -> Iterator[tuple[str, ListedErratum]]:
    """The errata of a finding, each with the source that has it."""
    for pair in erratum_pairs(comparison_rows(finding)):
        repaired = (pair["right"]["c"].what, pair["right"]["sentence"]) if pair["right"] else ("", "")
        for wrong in pair["wrong"]:
            for source in wrong["sources"]:
                told = wrong["prints"], wrong["what"], wrong["sentence"]
                yield source, ListedErratum(entry(finding.id), *told, *repaired)


def _source(name: str, chapters: dict[str, list[Any]]) -> SourceErrata:
    citation = SOURCES[name].citation if name in SOURCES else name
    return SourceErrata(name, citation, sum(map(len, chapters.values())), chapters)


def _rank(source: str) -> int:
    return list(SOURCES).index(source) if source in SOURCES else len(SOURCES)
