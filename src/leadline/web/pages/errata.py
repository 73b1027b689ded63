"""All forms that texts print wrongly, by text and by chapter."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from leadline.evidence import SOURCES, Entry, Finding, entry
from leadline.evidence.gallery import comparison_rows

from .printed_forms import sentence


class Erratum(NamedTuple):
    entry: Entry
    form: str
    what: str
    sentence: str


class SourceErrata(NamedTuple):
    """What one text prints wrongly, by the chapters of this book."""

    name: str
    citation: str
    count: int
    chapters: dict[str, list[Erratum]]


def errata(findings: Iterable[Finding]) -> list[SourceErrata]:
    """The printed errors in the findings, by text in the order of the sources; each form of an entry once."""
    found: dict[str, dict[str, list[Erratum]]] = {}
    seen: set[tuple[str, str, str]] = set()
    for finding in findings:
        for row in comparison_rows(finding):
            comparison = row["c"]
            form = (comparison.printed_by, finding.id, comparison.form)
            if not comparison.printed_by or form in seen:
                continue
            seen.add(form)
            told = Erratum(entry(finding.id), comparison.form, comparison.what, sentence(row))
            chapters = found.setdefault(comparison.printed_by, {})
            chapters.setdefault(told.entry.chapter.capitalize(), []).append(told)
    return [_source(name, found[name]) for name in sorted(found, key=_rank)]


def _source(name: str, chapters: dict[str, list[Any]]) -> SourceErrata:
    citation = SOURCES[name].citation if name in SOURCES else name
    return SourceErrata(name, citation, sum(map(len, chapters.values())), chapters)


def _rank(source: str) -> int:
    return list(SOURCES).index(source) if source in SOURCES else len(SOURCES)
