"""Two reports as one page, what differs first."""

from typing import Any

from leadline.presentation.words import number

from ..card import Card
from ..report import Report
from .card_values import WORDS, card_values, verdict_values
from .differences import Estimate, VerdictPair, compared_numbers, differences
from .report_page import advice_values, facts, page


def comparison_html(first: Report, second: Report) -> str:
    """Two reports side by side: verdicts and numbers that differ, then both summaries, then all cards in pairs."""
    return _page("against.html", first, second)


def comparison_fragment(first: Report, second: Report) -> str:
    """The same as a piece of HTML, for notebooks."""
    return _page("against_fragment.html", first, second)


def _page(template: str, first: Report, second: Report) -> str:
    reports = (first, second)
    found = differences(first, second)
    names = list(dict.fromkeys([*first.cards, *second.cards]))
    comparable = not found.not_compared
    return page(
        template,
        reports=[_summary(report, number) for number, report in enumerate(reports, 1)],
        not_compared=found.not_compared,
        verdicts=[_told(pair) for pair in found.verdicts],
        numbers=[(p.instrument, p.name, estimate_text(p.first), estimate_text(p.second)) for p in found.numbers],
        only=found.only,
        rows=[_row(name, [report.cards.get(name) for report in reports], comparable) for name in names],
    )


def estimate_text(estimate: Estimate) -> str:
    """A number and the interval that it lies in, as far as it is known."""
    if estimate.low is None:
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def _told(pair: VerdictPair) -> VerdictPair:
    """The verdict of a whole card in words; that of a comparison is in words already."""
    return pair if pair.what else pair._replace(first=WORDS[pair.first], second=WORDS[pair.second])


def _summary(report: Report, number: int) -> dict[str, Any]:
    return {
        "name": report.name,
        "number": number,
        "facts": facts(report.about),
        "findings": [verdict_values(card, f"{card.name}-{number}") for card in report.main_findings()],
        "advice": advice_values(report),
    }


def _row(name: str, cards: list[Card | None], comparable: bool) -> dict[str, Any]:
    """One instrument: its card in both, and all numbers that both have."""
    first, second = cards
    pairs = compared_numbers(first, second) if comparable and first and second else []
    return {
        "name": name,
        "cards": [None if c is None else card_values(c, f"{name}-{i}") for i, c in enumerate(cards, 1)],
        "shown": any(c is not None and not c.skipped for c in cards),
        "numbers": [(p.name, estimate_text(p.first), estimate_text(p.second)) for p in pairs],
    }
