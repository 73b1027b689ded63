"""Every page as HTML text: the explorer serves them, the book writes them to files."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leadline._messages import unknown
from leadline.evidence import SOURCES, BadInput, Comparison, Entry, Falsification, Figure, Finding, Task, entries, entry
from leadline.presentation.gallery import comparison_rows, templates
from leadline.presentation.library import library_names, library_object, library_packages, packages_within
from leadline.presentation.mathematics import mathml

from .addresses import Addresses
from .contents import Line, chapters, kinds_told, neighbours, verdicts_told
from .controls import controls
from .errata import errata
from .falsification_view import falsification_view
from .finding_view import finding_view
from .same_again import command, python

START = (
    "novikoff-bound",
    "interpolation-threshold",
    "wide-net-is-kernel-regression",
    "adam-printed-variants",
    "zone-of-confusion",
    "pac-bayes-bound",
)


class Site:
    """The pages. With `draw`, which gives a figure as SVG, they are those of the book; without, of the explorer.

    `known` has `find(task)`, `state(id)` and `findings()`, as `KnownFindings` does.
    """

    def __init__(self, known: Any, draw: Callable[[Figure], str] | None = None):
        self.known, self.draw = known, draw

    def to(self, depth: int) -> Addresses:
        """The addresses as seen from a page `depth` folders below the top."""
        return Addresses() if self.draw is None else Addresses("../" * depth, ".html", live=False)

    def home(self) -> str:
        listed = chapters(self.known)
        lines = [line for chapter in listed for line in chapter.lines]
        by_id = {line.entry.id: line for line in lines}
        counts = f"{len(lines)} entries: {kinds_told([line.entry for line in lines])}; {verdicts_told(lines)}."
        start = [by_id[id] for id in START if id in by_id]
        return self._page("home.html", "Contents", chapters=listed, start=start, counts=counts)

    def chapter(self, name: str) -> str:
        entries(chapter=name)  # BadInput for one that does not exist
        listed = chapters(self.known)
        (chapter,) = (c for c in listed if c.name == name)
        return self._page("chapter.html", chapter.title, depth=1, here=name, chapters=listed, chapter=chapter)

    def entry(self, id: str, given: Mapping[str, Any] = {}, seed: int = 0, mistake: str = "") -> str:
        """The page of an entry, set to parameters; with its finding, if that is known."""
        task = Task.of(entry(id), given, seed)
        finding = self.known.find(task)
        e = task.entry
        listed = chapters(self.known)
        before, after = neighbours(listed, id)
        return self._page(
            "entry.html",
            e.title,
            depth=1,
            here=e.chapter,
            line=id,
            chapters=listed,
            mistake=mistake,
            chapter_title=e.chapter.capitalize(),
            controls=controls(e.parameters, task.parameters),
            seed=seed,
            run_at_once=finding is None and self.draw is None and not mistake,  # nobody should meet an empty page
            objects=[library_object(name) for name in e.shows],
            before=before,
            after=after,
            sources=[(s, SOURCES[s]) for s in e.sources],
            bibtex="\n".join(SOURCES[s].bibtex for s in e.sources),
            **self._result(task, finding),
        )

    def library(self) -> str:
        """All packages of the library."""
        return self._page("library.html", "Library", packages=packages_within(""), within=packages_within)

    def of_library(self, name: str) -> str:
        """The page of a package, or of a name that one exports."""
        packages = library_packages()
        if name in packages:
            within, above = packages_within(name), name.rpartition(".")[0]
            told = {"package": packages[name], "within": within, "above": above}
            return self._page("package.html", f"leadline.{name}", depth=1, **told)
        package, _, own = name.rpartition(".")
        if package not in packages or own not in packages[package].names:
            raise BadInput(unknown("name of the library", name, library_names()))
        shown_by = [Line(e, self.known.state(e.id)) for e in entries() if name in e.shows]
        told = {"o": library_object(name), "own": own, "package": package, "shown_by": shown_by}
        return self._page("object.html", f"leadline.{name}", depth=1, **told)

    def search(self, query: str) -> str:
        lines = [Line(e, self.known.state(e.id)) for e in entries(text=query)] if query.strip() else []
        return self._page("search.html", "Search", query=query, lines=lines)

    def studies(self, studies: Sequence[Any]) -> str:
        return self._page("studies.html", "Studies", studies=studies)

    def sources(self) -> str:
        cited = {name: [e for e in entries() if name in e.sources] for name in SOURCES}
        told = [
            {"name": name, "cited": len(cited[name]), "kinds": kinds_told(cited[name]), **source._asdict()}
            for name, source in SOURCES.items()
        ]
        return self._page("sources.html", "Sources", sources=told)

    def errata(self) -> str:
        """All errata of the findings that are known, by text and by chapter; and entries that have others."""
        findings = list(self.known.findings())
        known = {finding.id for finding in findings}
        others = [Line(e, self.known.state(e.id)) for e in entries() if e.errata and e.id not in known]
        return self._page("errata.html", "Errata", errata=errata(findings), others=others)

    def message(self, title: str, sentence: str, depth: int = 0) -> str:
        return self._page("message.html", title, depth=depth, sentence=sentence)

    def result(self, task: Task, finding: Finding | None) -> str:
        """The result panel alone."""
        return _template("result.html").render(to=self.to(1), **self._result(task, finding))

    def row(self, comparison: Comparison) -> str:
        """One row of the table of comparisons, as it comes."""
        (row,) = comparison_rows(Finding("", {}, 0, comparisons=(comparison,)))
        return str(_template("table.html").module.row(row))

    def falsification(self, entry: Entry, falsification: Falsification, *, running: bool) -> str:
        """The search for a counterexample: best so far, or its end."""
        return _template("falsification.html").render(
            falsification_view(entry, falsification, self.to(1), running=running)
        )

    def example(self, output: str) -> str:
        """What a library example printed."""
        return _template("output.html").render(output=output)

    def _result(self, task: Task, finding: Finding | None) -> dict[str, Any]:
        return {
            "entry": task.entry,
            "formula": _formula(task.entry.formula),
            "shown": None if finding is None else finding_view(finding, task.entry, self.draw),
            "command": command(task),
            "python": python(task),
        }

    def _page(self, template: str, title: str, *, depth: int = 0, here: str = "", line: str = "", **values: Any) -> str:
        listed = {"chapters": chapters(self.known)} if "chapters" not in values else {}
        return _template(template).render(to=self.to(depth), title=title, here=here, line=line, **listed, **values)


def _template(name: str) -> Any:
    return templates("leadline.web.pages").get_template(name)


@functools.cache
def _formula(formula: str) -> str:
    return mathml(formula) if formula else ""
