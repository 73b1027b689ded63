"""Findings as HTML: a fragment for notebooks, and a directory of figures with an index.html that opens from disk."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leadline.evidence import registry
from leadline.evidence.comparison import Comparison, Verdict
from leadline.evidence.finding import Finding
from leadline.evidence.parameters import BadInput
from leadline.evidence.registry import Entry
from leadline.evidence.sources import SOURCES

from . import drawing, words
from .inline_svg import inline_svg
from .mathematics import mathml, sentence

FIGURES = "figures"


def write_gallery(
    directory: Path,
    findings: Sequence[Finding],
    entries: Mapping[str, Entry],
    *,
    jobs: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Write every figure as SVG and PNG, in up to `jobs` processes, and an index.html that shows all findings."""
    try:
        (directory / FIGURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot write to {directory / FIGURES} ({error.strerror}); choose another --out.") from None
    named = {f.id: {f"{FIGURES}/{f.id}-{n}": figure for n, figure in enumerate(f.figures, start=1)} for f in findings}
    drawing.draw_all({directory / s: f for own in named.values() for s, f in own.items()}, jobs=jobs, advance=advance)
    pictures = {id: [{"title": f.title, "source": f"{s}.svg"} for s, f in own.items()] for id, own in named.items()}
    page = (
        templates()
        .get_template("index.html")
        .render(cards=[_card(f, entries[f.id], pictures[f.id]) for f in findings], style=stylesheet())
    )
    drawing.write(directory / "index.html", page.encode())


def finding_fragment(finding: Finding) -> str:
    """A finding as a piece of HTML with its figures inside."""
    drawn = [{"title": f.title, "svg": inline_svg(f)} for f in finding.figures]
    return (
        templates()
        .get_template("fragment.html")
        .render(card=_card(finding, registry.entry(finding.id), drawn), style=stylesheet())
    )


def _card(finding: Finding, entry: Entry, pictures: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "finding": finding,
        "entry": entry,
        "formula": mathml(entry.formula) if entry.formula else "",
        "verdict": words.finding_verdict(finding, entry),
        "mark": words.mark(finding),
        "tone": finding_tone(finding, entry),
        "rows": comparison_rows(finding),
        "pictures": pictures,
        "sources": [SOURCES[s].citation for s in entry.sources],
    }


def comparison_rows(finding: Finding) -> list[dict[str, Any]]:
    """The comparisons of a finding in words, as the table of a card shows them."""
    return [
        {
            "c": c,
            **dict(zip(("measured", "relation", "predicted"), words.sides(c), strict=True)),
            "slack": "" if c.unmet else words.number(c.slack),
            "verdict": words.comparison_verdict(c),
            "mark": "–" if c.unmet else words.MARKS[c.verdict] if not c.erratum else "✗",
            "tone": _row_tone(c),
        }
        for c in finding.comparisons
    ]


def _row_tone(comparison: Comparison) -> str:
    if comparison.unmet:
        return "quiet"
    failed = comparison.verdict is Verdict.FAILS and not comparison.erratum
    if (failed and comparison.empirical) or comparison.verdict is Verdict.VACUOUS:
        return "warn"
    return "good" if comparison.as_expected else "bad"


def finding_tone(finding: Finding, entry: Entry) -> str:
    """The tone of the verdict: good, warn, bad or quiet; what is no theorem and not confirmed is no alarm."""
    if words.unconfirmed(finding, entry):
        return "warn"
    if not finding.as_expected:
        return "bad"
    return {"holds": "good", "vacuous": "warn"}.get(str(finding.verdict), "quiet")


@functools.cache
def templates(*packages: str) -> Any:
    """The pages of these packages, before those of this one."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, "leadline.presentation")])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["sentence"] = sentence
    return made


def stylesheet() -> str:
    return (Path(__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
