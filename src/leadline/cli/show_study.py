"""What the terminal shows of a study: a bar while it runs, then what matters, what to do, and a table of the cards."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from leadline.presentation import words

from .show import notices, output, vanishing_bar

if TYPE_CHECKING:
    from leadline.studies import Card, Report
    from leadline.studies.report import Advice

_SIGNS = {"holds": ("✓", "green"), "fails": ("✗", "bold red"), "vacuous": ("○", "yellow"), "error": ("!", "bold red")}


def say(message: str) -> None:
    """A line on stderr, for what takes long before a study begins."""
    notices.print(message, highlight=False, soft_wrap=True)


class InstrumentBar:
    """The bar of one study: which instrument is at work, how much of the whole is done; a line for each that is."""

    def __init__(self, bar: Progress, task: Any, quiet: bool):
        self._bar, self._task, self._quiet = bar, task, quiet

    def running(self, name: str) -> None:
        self._bar.update(self._task, now=name)

    def finished(self, card: "Card") -> None:
        from leadline.studies.budget import share

        self._bar.advance(self._task, share(card.name))
        if not self._quiet:
            sign, style = _SIGNS.get(card.verdict, ("–", "dim"))
            line = f"[{style}]{sign}[/] {card.name} [dim]{card.finding.seconds:.1f} s[/]"
            self._bar.console.print(line, highlight=False)


@contextlib.contextmanager
def progress(name: str, instruments: list[str], *, quiet: bool) -> Iterator[InstrumentBar]:
    from leadline.studies.budget import share

    columns = (
        TextColumn(name),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[now]}"),
    )
    with vanishing_bar(*columns, hidden=quiet) as bar:
        yield InstrumentBar(bar, bar.add_task(name, total=sum(map(share, instruments)), now=""), quiet)


def report(report: "Report", page: Path, *, as_json: bool) -> None:
    """The report as JSON, or in words: what matters most, what to do and why, then every card."""
    if as_json:
        print(json.dumps(report.to_json(figures=False), ensure_ascii=False, indent=1))
        return
    output.print(f"[bold]Study of {escape(report.name)}[/]", highlight=False)
    findings = report.main_findings()
    if findings:
        output.print("[bold]What matters most[/]", highlight=False)
        for place, card in enumerate(findings, 1):
            output.print(f"{place}. {card.name}: {escape(card.meaning.sentence)}", highlight=False)
    if report.advice():
        output.print("[bold]What to do[/]", highlight=False)
        for advice in report.advice():
            output.print(f"• {escape(advice.sentence)} [dim]({escape(_because(advice))})[/]", highlight=False)
    output.print("[bold]Cards[/]", highlight=False)
    output.print(_table([report], above={card.name: place for place, card in enumerate(findings, 1)}), highlight=False)
    for name, error in report.failed().items():
        told = f"{name} failed: {error}; please report this line with the command {report.command} --only {name}."
        output.print(f"[bold red]![/] {escape(told)}", highlight=False, soft_wrap=True)
    output.print(f"Report: {page}", highlight=False, soft_wrap=True)


def both(first: "Report", second: "Report", page: Path, *, as_json: bool) -> None:
    """Two reports side by side, what differs first."""
    from leadline.studies.pages.against_page import estimate_text
    from leadline.studies.pages.differences import differences

    found = differences(first, second)
    if as_json:
        record = {"first": first.to_json(figures=False), "second": second.to_json(figures=False)}
        print(json.dumps(record | {"differences": found.to_json()}, ensure_ascii=False, indent=1))
        return
    output.print("[bold]What differs[/]", highlight=False)
    lines = [*found.not_compared, *(["Their numbers are not compared."] if found.not_compared else [])]
    for pair in (*found.verdicts, *found.only):
        what = f"{pair.instrument}: {pair.what}" if pair.what else pair.instrument
        lines.append(f"{what}: {pair.first} in {first.name}, {pair.second} in {second.name}")
    for p in found.numbers:
        a, b = estimate_text(p.first), estimate_text(p.second)
        lines.append(f"{p.instrument}: {p.name}: {a} in {first.name}, {b} in {second.name}")
    for line in lines or ["No verdict, and no number by more than its uncertainty."]:
        output.print(f"• {escape(line)}", highlight=False)
    output.print(_table([first, second]), highlight=False)
    output.print(f"Side by side: {page}", highlight=False, soft_wrap=True)


def _because(advice: "Advice") -> str:
    """The card that an advice comes from, and the comparison that it rests on."""
    if advice.evidence is None:
        return advice.instrument
    measured, relation, predicted = words.sides(advice.evidence)
    return f"{advice.instrument}: {advice.evidence.what}: measured {measured}, predicted {relation} {predicted}"


def _table(reports: list["Report"], above: Mapping[str, int] = MappingProxyType({})) -> Table:
    """A row for each instrument; what was told `above`, by its number there, is not told again."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("instrument", no_wrap=True)
    for report in reports:
        table.add_column("", no_wrap=True)
        table.add_column("what it means" if len(reports) == 1 else report.name)
    for name in dict.fromkeys(name for report in reports for name in report.cards):
        cells = [cell for report in reports for cell in _cells(report.cards.get(name), above.get(name))]
        table.add_row(name, *cells)
    return table


def _cells(card: "Card | None", above: int | None = None) -> tuple[str, str]:
    if card is None:
        return "", ""
    sign, style = _SIGNS.get(card.verdict, ("–", "dim"))
    told = card.meaning.sentence if card.meaning else card.finding.error or f"left out: {card.skipped}"
    told = f"number {above} above" if above else told
    counts = ", ".join(f"{count} {word}" for word, count in card.counts().items() if count)
    return f"[{style}]{sign}[/]", escape(told) + (f" [dim]({counts})[/]" if counts else "")
