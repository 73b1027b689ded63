"""What the terminal shows of a study: a bar while it runs, then a table, the main findings and advice."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .show import notices, output, vanishing_bar

if TYPE_CHECKING:
    from leadline.studies import Card, Report

_SIGNS = {"holds": ("✓", "green"), "fails": ("✗", "bold red"), "vacuous": ("○", "yellow"), "error": ("!", "bold red")}


def say(message: str) -> None:
    """A line on stderr, for what takes long before a study begins."""
    notices.print(message, highlight=False, soft_wrap=True)


class InstrumentBar:
    """The bar of one study: which instrument is at work, and how many are done; a line for each that is."""

    def __init__(self, bar: Progress, task: Any, quiet: bool):
        self._bar, self._task, self._quiet = bar, task, quiet

    def running(self, name: str) -> None:
        self._bar.update(self._task, now=name)

    def finished(self, card: "Card") -> None:
        self._bar.advance(self._task)
        if not self._quiet:
            sign, style = _SIGNS.get(card.verdict, ("–", "dim"))
            line = f"[{style}]{sign}[/] {card.name} [dim]{card.finding.seconds:.1f} s[/]"
            self._bar.console.print(line, highlight=False)


@contextlib.contextmanager
def progress(name: str, instruments: list[str], *, quiet: bool) -> Iterator[InstrumentBar]:
    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[now]}"),
    )
    with vanishing_bar(*columns, hidden=quiet) as bar:
        yield InstrumentBar(bar, bar.add_task(name, total=len(instruments), now=""), quiet)


def report(report: "Report", page: Path, *, as_json: bool) -> None:
    """The report as JSON, or as a table with what matters most."""
    if as_json:
        print(json.dumps(report.to_json(figures=False), ensure_ascii=False, indent=1))
        return
    output.print(f"[bold]Study of {escape(report.name)}[/]", highlight=False)
    output.print(_table([report]), highlight=False)
    if report.advice():
        output.print("[bold]What to do[/]", highlight=False)
        for name, sentence in report.advice():
            output.print(f"• {escape(sentence)} [dim]({name})[/]", highlight=False)
    output.print(f"Report: {page}", highlight=False, soft_wrap=True)


def both(first: "Report", second: "Report", page: Path, *, as_json: bool) -> None:
    """Two reports side by side."""
    if as_json:
        record = {"first": first.to_json(figures=False), "second": second.to_json(figures=False)}
        print(json.dumps(record, ensure_ascii=False, indent=1))
        return
    output.print(_table([first, second]), highlight=False)
    output.print(f"Side by side: {page}", highlight=False, soft_wrap=True)


def _table(reports: list["Report"]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("instrument", no_wrap=True)
    for report in reports:
        table.add_column("", no_wrap=True)
        table.add_column("what it means" if len(reports) == 1 else report.name)
    for name in dict.fromkeys(name for report in reports for name in report.cards):
        cells = [cell for report in reports for cell in _cells(report.cards.get(name))]
        table.add_row(name, *cells)
    return table


def _cells(card: "Card | None") -> tuple[str, str]:
    if card is None:
        return "", ""
    sign, style = _SIGNS.get(card.verdict, ("–", "dim"))
    told = card.meaning.sentence if card.meaning else card.finding.error or f"left out: {card.skipped}"
    counts = ", ".join(f"{count} {word}" for word, count in card.counts().items() if count)
    return f"[{style}]{sign}[/]", escape(told) + (f" [dim]({counts})[/]" if counts else "")
