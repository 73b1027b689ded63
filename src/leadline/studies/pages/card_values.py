"""What the templates show of a card."""

import re
from typing import Any

from leadline.evidence import Figure, Finding, Verdict
from leadline.evidence.sources import SOURCES
from leadline.presentation.figure import narrow
from leadline.presentation.gallery import comparison_rows
from leadline.presentation.inline_svg import inline_svg
from leadline.presentation.mathematics import mathml
from leadline.presentation.words import MARKS

from ..card import Card

_TONES = {"holds": "good", "vacuous": "warn", "fails": "bad", "error": "bad"}
WORDS = {
    "holds": "theory holds",
    "fails": "not all of it holds",
    "vacuous": "a bound says nothing",
    "inapplicable": "no theory applies",
    "skipped": "does not apply",
    "error": "failed",
}
_SPANNING = 700  # pixels: a figure that is wider has a row of its own


def verdict_values(card: Card, anchor: str = "") -> dict[str, Any]:
    """The name and the verdict of a card."""
    verdict = card.verdict
    counts = [(word, count) for word, count in card.counts().items() if count]
    return {
        "name": card.name,
        "anchor": anchor or card.name,
        "verdict": WORDS[verdict],
        "mark": {"skipped": "–", "error": "!"}.get(verdict) or MARKS[Verdict(verdict)],
        "tone": _TONES.get(verdict, "quiet"),
        "counts": ", ".join(f"{count} {_plural(word, count)}" for word, count in counts),
        "question": card.question,
        "meaning": card.meaning,
        "skipped": card.skipped,
    }


def card_values(card: Card, anchor: str = "") -> dict[str, Any]:
    """All that is shown of a card."""
    return verdict_values(card, anchor) | {
        "brief": not (card.tells or card.finding.error or card.skipped),
        "error": card.finding.error,
        "versions": ", ".join(f"{name} {version}" for name, version in card.finding.versions.items()),
        "evidence": evidence_values(card),
        "left_out": card.left_out,
        "sizes": ", ".join(f"{name} {count}" for name, count in card.sizes.items()),
        "rows": comparison_rows(card.finding),
        "figures": [_drawn(f) for f in card.finding.figures],
        "formula": mathml(card.formula) if card.formula else "",
        "assumes": card.assumes,
        "sources": [SOURCES[s].citation for s in card.sources],
        "entries": card.entries,
        "command": card.finding.command,
        "seconds": card.finding.seconds,
    }


def evidence_values(card: Card) -> dict[str, Any] | None:
    """The comparison that the advice of a card rests on, in words."""
    found = card.evidence
    return None if found is None else comparison_rows(Finding(card.name, {}, 0, comparisons=(found,)))[0]


def _drawn(figure: Figure) -> dict[str, Any]:
    svg, small = inline_svg(figure), narrow(figure)
    width = re.search(r' width="([\d.]+)"', svg)
    return {
        "title": figure.title,
        "svg": svg,
        "narrow": "" if small is None else inline_svg(small),
        "spans": width is not None and float(width[1]) > _SPANNING,
    }


def _plural(word: str, count: int) -> str:
    return {"holds": "hold", "fails": "fail"}.get(word, word) if count > 1 else word
