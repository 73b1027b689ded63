"""What the terminal shows: tables on stdout, progress and notices on stderr."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from leadline.presentation.plain_mathematics import plain, plain_formula
from leadline.presentation.words import comparison_verdict, finding_verdict, mark, number, sides, unconfirmed

if TYPE_CHECKING:
    from leadline.evidence.falsifier import Falsification
    from leadline.evidence.finding import Finding
    from leadline.evidence.registry import Entry
    from leadline.evidence.store import RunDirectory

output = Console()
notices = Console(stderr=True)

FEW = 3  # findings that are shown in full; of more, only those that need attention are

_STYLES = {"✓": "green", "✗": "bold red", "!": "bold red", "○": "yellow", "–": "dim"}


def entry_lines(entries: list[Entry]) -> str:
    """A line an entry: id, kind and title, in columns. As plain text: a table of hundreds of rows takes a second."""
    rows = [("id", "kind", "title"), *((e.id, e.kind, e.title) for e in entries)]
    first, second = (max(len(row[k]) for row in rows) for k in (0, 1))
    return "\n".join(f"{id:<{first}}  {kind:<{second}}  {title}" for id, kind, title in rows)


def print_entry(entry: Entry) -> None:
    """All about one entry: what it says, what it assumes, and what can be varied."""
    output.print(f"[bold]{escape(entry.title)}[/]", highlight=False)
    output.print(f"[dim]{entry.id}, {entry.kind} of the chapter {entry.chapter}[/]", highlight=False)
    output.print(escape(plain(entry.statement)), highlight=False)
    for title, text in (
        ("formula", plain_formula(entry.formula) if entry.formula else ""),
        ("assumes", plain("; ".join(entry.assumes))),
        ("check", plain(entry.check)),
        ("library", ", ".join(f"leadline.{name}" for name in entry.shows)),
        ("sources", ", ".join(entry.sources)),
        ("slow", entry.slow),
    ):
        if text:
            output.print(f"[dim]{title}:[/] {escape(text)}", highlight=False)
    if entry.parameters:
        table = Table("parameter", "default", "values", box=None, pad_edge=False, header_style="bold")
        for p in entry.parameters:
            table.add_row(p.name, number(p.default), escape(p.values))
        output.print(table)
    output.print(f"Run it with [bold]leadline check {entry.id}[/].", highlight=False)


def comparison_table(finding: Finding) -> Table:
    table = Table(
        "", "what", "measured", "", "predicted", "slack", "verdict", box=None, pad_edge=False, header_style="bold"
    )
    for column in (2, 4, 5):
        table.columns[column].justify = "right"
    for c in finding.comparisons:
        sign = "✓" if c.as_expected and not c.unmet else "–" if c.unmet else "✗"
        if c.as_expected and c.verdict == "vacuous":
            sign = "○"
        what = escape(c.what)
        if c.erratum:
            what += f" [dim](erratum of {c.erratum.by}: {escape(plain(c.erratum.prints))})[/]"
        if c.cases > 1:
            what += f" [dim](worst of {c.cases})[/]"
        table.add_row(
            f"[{_STYLES[sign]}]{sign}[/]",
            what,
            *sides(c),
            "" if c.unmet else number(c.slack),
            escape(comparison_verdict(c)),
        )
    return table


def resumed(run: RunDirectory, done: int, *, kept: bool) -> None:
    """Say what is taken from an earlier run, and what of it could not be read."""
    if run.damaged:
        lines = "line" if run.damaged == 1 else "lines"
        notice = f"{run.damaged} damaged {lines} in {run.file} skipped; what they held runs again."
        notices.print(notice, highlight=False, soft_wrap=True)
    if done:
        hint = "; --fresh runs them again" if kept else ""
        notices.print(f"{done} findings taken from an earlier run{hint}.", highlight=False)


class Bar:
    """The progress bar of a check: how many are finished, and which are being run."""

    def __init__(self, progress: Progress, task: Any):
        self._progress, self._task = progress, task

    def running(self, tasks: list) -> None:
        self._progress.update(self._task, now=", ".join(t.entry.id for t in tasks))

    def finished(self, finding: Finding, *, announce: bool) -> None:
        self._progress.advance(self._task)
        if announce:  # on a terminal the line must go above the bar, through the bar's own console
            above = self._progress.console if output.is_terminal and notices.is_terminal else output
            above.print(_line(finding), highlight=False)


def vanishing_bar(*columns: Any, hidden: bool = False) -> Progress:
    """A bar on stderr that leaves stdout alone and vanishes when done."""
    return Progress(
        *columns,
        console=notices,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=hidden or not notices.is_terminal,
    )


@contextlib.contextmanager
def progress(total: int, done: int, *, quiet: bool) -> Iterator[Bar]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("[dim]{task.fields[now]}"))
    with vanishing_bar(*columns, hidden=quiet) as bar:
        yield Bar(bar, bar.add_task("check", total=total, completed=done, now=""))


@contextlib.contextmanager
def working(text: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner with what is being done, which can be said anew."""
    with vanishing_bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), hidden=quiet) as bar:
        task = bar.add_task(text, total=None)
        yield lambda now: bar.update(task, description=now)


def collect(
    trials: Iterable[tuple[Entry, Finding]] | Callable[[Callable[[str], None]], Iterable[tuple[Entry, Finding]]],
    text: str,
    *,
    quiet: bool,
) -> tuple[list[Finding], dict[str, Entry]]:
    """Take what a study yields, trial by trial, and say meanwhile which was the last one.

    Trials that take long are a function of what they may call to say what they are at.
    """
    findings, entries = [], {}
    with working(text, quiet=quiet) as say:
        trials = trials(lambda now: say(f"{text}: {now}")) if callable(trials) else trials
        for entry, finding in trials:
            entries[entry.id] = entry
            findings.append(finding)
            say(f"{text}: {entry.id} is done")
    return findings, entries


def gallery(findings: list[Finding], entries: dict[str, Entry], out: Path | None) -> None:
    """Keep figures and a page in the directory `out`, if there is one, and hold it meanwhile."""
    if out is not None:
        from leadline.evidence.store import RunDirectory

        with RunDirectory(out).open():
            draw(findings, entries, out)


def draw(findings: list[Finding], entries: dict[str, Entry], out: Path, *, jobs: int = 1) -> None:
    """Write figures and a page, in up to `jobs` processes, with a progress bar."""
    from leadline.presentation.gallery import write_gallery

    with advancing("drawing figures", sum(len(f.figures) for f in findings)) as advance:
        write_gallery(out, findings, entries, jobs=jobs, advance=advance)


@contextlib.contextmanager
def advancing(text: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar that says what is done and moves on with each call."""
    with vanishing_bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task(text, total=total)
        yield lambda: bar.advance(task)


@contextlib.contextmanager
def searching(id: str, budget: float) -> Iterator[Callable[[Falsification], None]]:
    start = time.monotonic()
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.fields[now]}"))
    with vanishing_bar(*columns) as bar:
        task = bar.add_task(id, total=budget, now="")

        def update(falsification: Falsification) -> None:
            best = "" if falsification.worst is None else f", least slack {number(falsification.worst.slack)}"
            bar.update(task, completed=time.monotonic() - start, now=f"{falsification.runs} runs{best}")

        yield update


def report(
    findings: list[Finding], entries: dict[str, Entry], *, as_json: bool, out: Path | None, every: bool = False
) -> None:
    """The result of a check: JSON, the comparisons of what needs attention (of all, if few or `every`), a summary."""
    if as_json:
        record = {"findings": [f.to_json(figures=False) for f in findings], "summary": _summary(findings)}
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    for finding in findings:
        if every or len(findings) <= FEW or not finding.as_expected:
            _print_finding(finding, entries[finding.id])
    if len(findings) > 1:
        output.print(_summary_sentence(findings, entries), highlight=False)
    if out:
        output.print(f"Findings and figures: {out / 'index.html'}", highlight=False, soft_wrap=True)


def exit_code(findings: list[Finding], entries: dict[str, Entry]) -> int:
    """1 if theory or an erratum came out otherwise, or a run did not end; a finding that is not confirmed is told."""
    return int(any(not f.as_expected and not unconfirmed(f, entries[f.id]) for f in findings))


def falsification(falsification: Falsification, entry: Entry, *, as_json: bool) -> None:
    """The result of a search for a counterexample."""
    worst = falsification.worst
    if as_json:
        record = {
            "id": falsification.id,
            "violated": falsification.violated,
            "runs": falsification.runs,
            "by_chance": falsification.by_chance,
            "seconds": falsification.seconds,
            "worst": worst.to_json(figures=False) if worst else None,
            "errors": [f.to_json(figures=False) for f in falsification.errors],
        }
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    if worst is None:
        output.print(
            f"{falsification.id}: no run ended within {falsification.seconds:g} s; give a larger --budget.",
            highlight=False,
        )
    else:
        outcome = "[bold red]✗ violated[/]" if falsification.violated else "[green]✓ no violation found[/]"
        output.print(
            f"{outcome} in {falsification.runs} runs ({falsification.seconds:g} s). The worst case:", highlight=False
        )
        _print_finding(worst, entry)
        output.print(f"Again: {worst.command}", highlight=False, soft_wrap=True)
    if falsification.by_chance:
        notice = f"{falsification.by_chance} statistical misses were chance: fresh seeds did not repeat them."
        output.print(notice, highlight=False)
    if falsification.errors:
        first = falsification.errors[0]
        notices.print(
            f"{len(falsification.errors)} runs did not end, the first: {first.command}: {escape(first.error)}",
            highlight=False,
            soft_wrap=True,
        )


def _print_finding(finding: Finding, entry: Entry) -> None:
    output.print(_line(finding, entry), highlight=False)
    output.print(f"[dim]{escape(plain(entry.statement))}[/]", highlight=False)
    if finding.error:
        output.print(f"[red]{escape(finding.error)}[/]\n", highlight=False)
        return
    output.print(comparison_table(finding), highlight=False)
    output.print()


def _line(finding: Finding, entry: Entry | None = None) -> str:
    sign = mark(finding)
    failing = sum(bool(c.erratum) and c.as_expected and not c.unmet for c in finding.comparisons)
    errata = f", {failing} {'erratum fails' if failing == 1 else 'errata fail'}" if failing else ""
    return (
        f"[{_STYLES[sign]}]{sign}[/] [bold]{finding.id}[/] {finding_verdict(finding, entry)}{errata} "
        f"[dim]{finding.seconds:.1f} s[/]"
    )


def _summary(findings: list[Finding]) -> dict[str, Any]:
    errata = [c for f in findings for c in f.comparisons if c.erratum and not c.unmet]
    verdicts = Counter("error" if f.verdict is None else str(f.verdict) for f in findings)
    return {
        "entries": len(findings),
        "as_expected": sum(f.as_expected for f in findings),
        "verdicts": dict(verdicts),
        "comparisons": sum(len(f.comparisons) for f in findings),
        "errata": len(errata),
        "errata_failing": sum(c.as_expected for c in errata),
    }


def _summary_sentence(findings: list[Finding], entries: dict[str, Entry]) -> str:
    s = _summary(findings)
    plural = {"holds": "hold", "fails": "fail", "error": "did not end"}
    verdicts = Counter(finding_verdict(f, entries[f.id]) for f in findings)
    counts = ", ".join(f"{n} {plural.get(word, word)}" for word, n in verdicts.most_common())
    errata = f"; {s['errata_failing']} of {s['errata']} errata fail as they must" if s["errata"] else ""
    return f"{s['entries']} entries, {s['comparisons']} comparisons: {counts}{errata}."
