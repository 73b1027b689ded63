"""All errata, by text and by chapter."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from leadline.evidence import SOURCES, Entry, Finding, entry
from leadline.presentation.gallery import comparison_rows

from .erratum_pairs import sentence


class ListedErratum(NamedTuple):
    entry: Entry
    prints: str
    what: str
    sentence: str


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
        for row in comparison_rows(finding):
            noted = row["c"].erratum
            if not noted or (noted.by, finding.id, noted.prints) in seen:
                continue
            seen.add((noted.by, finding.id, noted.prints))
            listed = ListedErratum(entry(finding.id), noted.prints, row["c"].what, sentence(row))
            chapters = found.setdefault(noted.by, {})
            chapters.setdefault(listed.entry.chapter.capitalize(), []).append(listed)
    return [_source(name, found[name]) for name in sorted(found, key=_rank)]


def _source(name: str, chapters: dict[str, list[Any]]) -> SourceErrata:
    citation = SOURCES[name].citation if name in SOURCES else name
    return SourceErrata(name, citation, sum(map(len, chapters.values())), chapters)


def _rank(source: str) -> int:
    return list(SOURCES).index(source) if source in SOURCES else len(SOURCES)
