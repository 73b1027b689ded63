"""A report as one HTML file that opens from disk: no script, no font, no picture from anywhere else."""

from pathlib import Path
from typing import Any

from leadline.evidence import Verdict
from leadline.evidence.sources import SOURCES
from leadline.presentation.gallery import comparison_rows, stylesheet, templates
from leadline.presentation.mathematics import mathml
from leadline.presentation.words import MARKS, number

from .card import Card
from .report import Report

_TONES = {"holds": "good", "vacuous": "warn", "fails": "bad", "error": "bad"}
_WORDS = {
    "holds": "theory holds",
    "fails": "not all of it holds",
    "vacuous": "a bound says nothing",
    "inapplicable": "no theory applies",
    "skipped": "does not apply",
    "error": "failed",
}


def report_html(report: Report) -> str:
    """The whole page."""
    return _page("report.html", report=_report(report))


def report_fragment(report: Report) -> str:
    """The report as a piece of HTML, for notebooks."""
    return _page("report_fragment.html", report=_report(report))


def card_fragment(card: Card) -> str:
    """One card as a piece of HTML, for notebooks."""
    return _page("card_fragment.html", card=_card(card))


def comparison_html(first: Report, second: Report) -> str:
    """Two reports side by side."""
    names = list(dict.fromkeys([*first.cards, *second.cards]))
    rows = [
        {
            "name": name,
            "cards": [
                _card(r.cards[name], f"{name}-{i}") if name in r.cards else None for i, r in _both(first, second)
            ],
            "numbers": shared_numbers(first, second, name),
        }
        for name in names
    ]
    return _page("against.html", reports=[_report(first), _report(second)], rows=rows)


def shared_numbers(first: Report, second: Report, name: str) -> list[tuple[str, str, str]]:
    """The single numbers that an instrument found in both, in words."""
    if name not in first.cards or name not in second.cards:
        return []
    a, b = first[name], second[name]
    return [
        (key.replace("_", " "), number(a[key]), number(b[key]))
        for key in a
        if key in b and _single(a[key]) and _single(b[key])
    ]


def _single(value: Any) -> bool:
    return isinstance(value, int | float)


def _both(first: Report, second: Report) -> list[tuple[int, Report]]:
    return [(1, first), (2, second)]


def _page(template: str, **values: Any) -> str:
    own = (Path(__file__).parent / "templates" / "study.css").read_text(encoding="utf-8")
    return templates("leadline.studies").get_template(template).render(style=stylesheet() + own, **values)


def _report(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "command": report.command,
        "facts": _facts(report.about),
        "cards": [_card(card) for card in report.cards.values()],
        "findings": [_card(card) for card in report.main_findings()],
        "advice": report.advice(),
    }


def _facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    told = {
        "network": f"{about['network']}, {about['parameters']:,} parameters",
        "data": f"{about['data'] or 'given'}: {about['training_rows']:,} training and {about['test_rows']:,} test rows "
        f"of shape {' × '.join(map(str, about['input_shape']))}, {about['task']}",
        "loss": about["loss"],
    }
    if about["optimiser"] or about["step"]:
        known = [
            about["optimiser"] or "",
            f"step {about['step']:g}" if about["step"] else "",
            f"batch {about['batch']}" if about["batch"] else "",
            f"{about['epochs']} epochs" if about["epochs"] else "",
        ]
        told["training"] = ", ".join(filter(None, known))
    else:
        told["training"] = "not known: what depends on it is left out"
    return list(told.items())


def _card(card: Card, anchor: str = "") -> dict[str, Any]:
    verdict = card.verdict
    counts = [(word, count) for word, count in card.counts().items() if count]
    return {
        "name": card.name,
        "anchor": anchor or card.name,
        "question": card.question,
        "verdict": _WORDS[verdict],
        "mark": {"skipped": "–", "error": "!"}.get(verdict) or MARKS[Verdict(verdict)],
        "tone": _TONES.get(verdict, "quiet"),
        "counts": ", ".join(f"{count} {_plural(word, count)}" for word, count in counts),
        "meaning": card.meaning,
        "skipped": card.skipped,
        "error": card.finding.error,
        "rows": comparison_rows(card.finding),
        "figures": [{"title": f.title, "svg": f.svg()} for f in card.finding.figures],
        "formula": mathml(card.formula) if card.formula else "",
        "assumes": card.assumes,
        "sources": [SOURCES[s].citation for s in card.sources],
        "entries": card.entries,
        "command": card.finding.command,
        "seconds": card.finding.seconds,
    }


def _plural(word: str, count: int) -> str:
    return {"holds": "hold", "fails": "fail"}.get(word, word) if count > 1 else word
