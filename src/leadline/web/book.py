"""The book: every page as a file, for any web server or none; search and reading need no server."""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path, PurePosixPath

from leadline._files import write_whole
from leadline.evidence import BadInput, Figure, Finding, Task, entries, entry
from leadline.presentation.library import library_names

from .assets import explorer_script, explorer_style
from .drawings import Drawings
from .known_findings import State
from .pages.search_index import search_index
from .pages.site import Site

MARKER = "assets/book.json"


class BookFindings:
    """The findings of a book, all at the defaults, as pages ask for them."""

    def __init__(self, findings: Sequence[Finding]):
        self._by_id = {f.id: f for f in findings}
        self._states = {f.id: State.of(f, entry(f.id)) for f in findings}  # every page tells those of all entries

    def find(self, task: Task) -> Finding | None:
        finding = self._by_id.get(task.entry.id)
        return finding if finding is not None and finding.key == task.key else None

    def state(self, id: str) -> State | None:
        return self._states.get(id)

    def findings(self) -> Iterator[Finding]:
        return (self._by_id[e.id] for e in entries() if e.id in self._by_id)


def write_book(
    out: Path, findings: Sequence[Finding], drawings: Drawings, advance: Callable[[], None] = lambda: None
) -> None:
    """Write the pages of all entries that are loaded, with these findings at the defaults.

    A file is there whole or not at all, and what an earlier book in the directory had beyond this one is removed, so
    that after an interruption the same call goes on. `advance` is called after every page of an entry.
    """
    before = prepare(out)
    site = Site(BookFindings(findings), lambda figure: _drawn(figure, drawings))
    pages = dict(_pages(site))
    try:
        _note(out, {*before, *pages})  # whatever interrupts this: these files are the book's
        for name, make in pages.items():
            _write(out / name, make())
            if name.startswith("entries/"):
                advance()
        for stale in {*before} - {*pages}:
            _remove(out, stale)
        _note(out, {*pages})
    except OSError as error:
        where = error.filename or out
        raise BadInput(f"Cannot write {where} ({error.strerror}); make room or choose another --out.") from None


def prepare(out: Path) -> list[str]:
    """Make the directory of a book; the files of the one that is there already. BadInput if it has other content."""
    marker = out / MARKER
    try:
        out.mkdir(parents=True, exist_ok=True)
        if marker.exists():
            return [str(name) for name in json.loads(marker.read_text(encoding="utf-8"))["files"]]
        foreign = any(file.is_symlink() or not file.is_dir() for file in out.rglob("*") if file.suffix != ".part")
    except OSError as error:
        raise BadInput(f"Cannot write to {out} ({error.strerror}); choose another --out.") from None
    except (ValueError, KeyError, TypeError):
        raise BadInput(
            f"{marker} is damaged, so that it is not known which files are the book's; "
            "remove the directory or choose another --out."
        ) from None
    if foreign:
        raise BadInput(f"{out} has other files in it; give --out a new or empty directory, or that of a book.")
    return []


def _pages(site: Site) -> Iterator[tuple[str, Callable[[], str]]]:
    """The name of each file of the book and what makes it; what all pages load comes first."""
    to = site.to(0)
    shown = entries()
    yield to.asset("explorer.css"), explorer_style
    yield to.asset("explorer.js"), explorer_script
    yield to.asset("search-index.js"), lambda: search_index(shown, site.to(1))
    yield to.home, site.home
    yield to.sources, site.sources
    yield to.errata, site.errata
    yield to.library, site.library
    missing = "There is no such page in this book; its first page lists all chapters."
    yield "404.html", lambda: site.message("Not found", missing)
    for name in dict.fromkeys(e.chapter for e in shown):
        yield to.chapter(name), functools.partial(site.chapter, name)
    for name in library_names():
        yield to.object(name), functools.partial(site.of_library, name)
    for id in (e.id for e in shown):
        yield to.entry(id), functools.partial(site.entry, id)


def _drawn(figure: Figure, drawings: Drawings) -> str:
    """The figure as SVG; a figure that cannot be drawn says so in its place, and the book goes on."""
    try:
        return drawings.svg(figure)
    except ValueError as error:
        first = (str(error).strip().splitlines() or ["no reason given"])[0]
        return f'<p class="bad">{escape(f"This figure could not be drawn ({first}).")}</p>'


def _note(out: Path, names: set[str]) -> None:
    """Write down which files are the book's."""
    about = "The files of a book by `leadline book`; those that a later book does not have are removed by it."
    _write(out / MARKER, json.dumps({"about": about, "files": sorted(names)}, indent=0) + "\n")


def _write(file: Path, text: str) -> None:
    """Write a file unless it says that already: what did not change keeps its date."""
    content = text.encode()
    if not (file.is_file() and file.read_bytes() == content):
        write_whole(file, content)


def _remove(out: Path, name: str) -> None:
    """Remove a file of an earlier book; a name that leads out of the directory is not one."""
    file = out / name
    if PurePosixPath(name).is_absolute() or not file.parent.resolve().is_relative_to(out.resolve()):
        return
    if file.is_file() or file.is_symlink():
        file.unlink()
