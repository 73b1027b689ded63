"""The table of contents: chapters, their sections and entries, and what is known of each."""

import functools
import importlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from leadline.claims import CHAPTERS
from leadline.evidence import KINDS, Entry, entries


class Line(NamedTuple):
    """An entry in a list, with its state: the verdict, mark and tone of its last run at the defaults, or None."""

    entry: Entry
    state: Any


class Section(NamedTuple):
    """The entries of one section of a chapter."""

    title: str
    lines: list[Line]


class Chapter(NamedTuple):
    name: str
    title: str
    about: str
    sections: list[Section]

    @property
    def lines(self) -> list[Line]:
        return [line for section in self.sections for line in section.lines]

    @property
    def state(self) -> str:
        """How many entries were run and came out as they should: short, for the side of the page."""
        good, bad, lines = self._counts()
        return f"{good}/{lines}" + (f", {bad} ✗" if bad else "")

    @property
    def state_words(self) -> str:
        """The same in words."""
        good, bad, lines = self._counts()
        return f"{good} of {lines} run and as expected" + (f", {bad} not" if bad else "")

    @property
    def state_sentence(self) -> str:
        return f"{kinds_told([line.entry for line in self.lines])}; {verdicts_told(self.lines)}."

    def _counts(self) -> tuple[int, int, int]:
        tones = [line.state.tone for line in self.lines if line.state is not None]
        bad = tones.count("bad")
        return len(tones) - bad, bad, sum(len(section.lines) for section in self.sections)


def kinds_told(told: Sequence[Entry]) -> str:
    """How many entries there are of each kind, in words."""
    counts = Counter(e.kind for e in told)
    return ", ".join(f"{counts[k]} {k}s" if counts[k] > 1 else f"1 {k}" for k in reversed(KINDS) if counts[k])


def verdicts_told(lines: Sequence[Line]) -> str:
    """How the entries came out, in words."""
    verdicts = Counter(line.state.verdict for line in lines if line.state is not None)
    if not verdicts:
        return "none run yet"
    plural = {"holds": "hold", "fails": "fail", "error": "did not end"}
    told = [f"{n} {plural.get(word, word) if n > 1 else word}" for word, n in verdicts.most_common()]
    missing = len(lines) - verdicts.total()
    return ", ".join(told + ([f"{missing} not run yet"] if missing else []))


def chapters(known: Any) -> list[Chapter]:
    """All chapters in the order of the curriculum, with the present state of their entries."""
    outline = _outline(tuple(entry.id for entry in entries()))
    return [chapter._replace(sections=[_with_states(s, known) for s in chapter.sections]) for chapter in outline]


def _with_states(section: Section, known: Any) -> Section:
    return section._replace(lines=[Line(line.entry, known.state(line.entry.id)) for line in section.lines])


def neighbours(listed: Sequence[Chapter], id: str) -> tuple[Entry | None, Entry | None]:
    """The entries before and after this one, in the order of the book."""
    order = [line.entry for chapter in listed for line in chapter.lines]
    place = next(place for place, entry in enumerate(order) if entry.id == id)
    return order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None


@functools.lru_cache(maxsize=4)
def _outline(ids: tuple[str, ...]) -> list[Chapter]:
    """The chapters without states; `ids` are those of all entries, so that it is made anew when there are more."""
    by_chapter: dict[str, dict[str, list[Line]]] = {}
    for entry in entries():
        by_chapter.setdefault(entry.chapter, {}).setdefault(entry.section, []).append(Line(entry, None))
    ordered = [name for name in CHAPTERS if name in by_chapter] + [n for n in by_chapter if n not in CHAPTERS]
    return [
        Chapter(name, name.capitalize(), _about(name), [_section(name, *part) for part in by_chapter[name].items()])
        for name in ordered
    ]


def _about(chapter: str) -> str:
    """The first line of the chapter's own documentation, without its name in front."""
    if chapter not in CHAPTERS:
        return ""
    line = _first_line(importlib.import_module(f"leadline.claims.{chapter}"))
    told = line.removeprefix(f"{chapter.capitalize()}: ")
    return told[:1].upper() + told[1:]


def _section(chapter: str, name: str, lines: list[Line]) -> Section:
    """A section under the first line of its package."""
    title = _first_line(importlib.import_module(f"leadline.claims.{chapter}.{name}")).rstrip(".") if name else ""
    return Section(title or chapter.capitalize(), lines)


def _first_line(module: Any) -> str:
    return ((module.__doc__ or "").strip().splitlines() or [""])[0]
