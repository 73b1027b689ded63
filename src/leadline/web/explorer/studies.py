"""The reports of `leadline study` that can be opened from the explorer."""

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from leadline._files import is_regular
from leadline.evidence import BadInput
from leadline.studies.report import PAGE, REPORT, SIDE_BY_SIDE

LARGEST = 50 * 2**20  # bytes
_UNREADABLE = f"Its {REPORT} cannot be read."


class Study(NamedTuple):
    """A report: its `name` in addresses, what is said of it, and the file that shows it."""

    name: str
    title: str
    about: str
    when: str
    page: Path


class StudyReports:
    """The reports in chosen directories and up to two levels below them.

    Pages are found by their name in the list and never by a path from an address; a link that leads out of its
    directory is not followed.
    """

    def __init__(self, directories: Sequence[Path] = ()):
        for directory in directories:
            if not directory.is_dir():
                raise BadInput(f"There is no directory {directory}; give one with reports of `leadline study`.")
        self._directories = [directory.resolve() for directory in directories]

    def studies(self) -> list[Study]:
        """All reports, the newest first."""
        return sorted(self._by_name().values(), key=lambda study: study.when, reverse=True)

    def page(self, name: str) -> bytes | None:
        """The page of a report; None if there is none of this name."""
        study = self._by_name().get(name)
        if study is None:
            return None
        try:
            with study.page.open("rb") as file:
                content = file.read(LARGEST + 1)
        except OSError:
            return None
        return content if len(content) <= LARGEST else None

    def _by_name(self) -> dict[str, Study]:
        found: dict[str, Study] = {}
        for top in self._directories:
            for page in _pages(top):
                parts = page.parent.relative_to(top).parts or (top.name,)
                name = _free(_sayable("--".join(parts)), found)
                with contextlib.suppress(FileNotFoundError):  # taken away meanwhile
                    found[name] = _study(name, page, top)
        return found


def _pages(top: Path) -> Iterator[Path]:
    """The report pages in a directory, in a fixed order."""
    for directory in (top, *sorted(top.glob("*/")), *sorted(top.glob("*/*/"))):
        yield from (file for file in (directory / PAGE, directory / SIDE_BY_SIDE) if _inside(file, top))


def _inside(file: Path, top: Path) -> bool:
    """Whether a file is there, of a size to read, and really in this directory."""
    try:
        real = file.resolve()
        return real.is_relative_to(top) and real.is_file() and real.stat().st_size <= LARGEST
    except (OSError, RuntimeError):  # a directory that may not be read, a link to itself
        return False


def _free(name: str, taken: dict[str, Study]) -> str:
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(n for n in names if n not in taken)


def _sayable(text: str) -> str:
    """Text that a page can hold: the name of a file need not be UTF-8, and JSON may have halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _study(name: str, page: Path, top: Path) -> Study:
    changed = page.stat().st_mtime_ns
    when = datetime.fromtimestamp(changed / 1e9).strftime("%Y-%m-%d %H:%M")
    if page.name == SIDE_BY_SIDE:
        return Study(name, _sayable(page.parent.name), "Two reports side by side.", when, page)
    report = page.with_name(REPORT)
    title, about = _summary(report, changed) if _inside(report, top) else ("", _UNREADABLE)
    return Study(name, _sayable(title or page.parent.name), _sayable(about), when, page)


@functools.lru_cache(maxsize=1000)
def _summary(report: Path, changed: int) -> tuple[str, str]:
    """The name of a report and what is found in it; `changed` is when, so that a new one is read anew."""
    try:
        if not is_regular(report):
            return "", _UNREADABLE
        record = json.loads(report.read_bytes())
        counts = Counter(record["summary"]["verdicts"].values())
        told = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
        return str(record["name"]), f"{_subject(record['about'])}: {told}."
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", _UNREADABLE


def _subject(about: dict[str, Any]) -> str:
    """What was studied, in a few words; reports on other things than networks say less."""
    size = f"{about['parameters']} parameters" if "parameters" in about else ""
    return ", ".join(str(part) for part in (about.get("network"), size, about.get("data")) if part) or "Report"
