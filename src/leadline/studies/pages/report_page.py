"""A report as one HTML file that opens from disk: no script, no font, no picture from anywhere else."""

from pathlib import Path
from typing import Any

from leadline.presentation.gallery import stylesheet, templates

from ..card import Card
from ..report import Report
from .card_values import card_values, evidence_values, verdict_values

_NAMED = 6  # classes


def report_html(report: Report) -> str:
    """The whole page."""
    return page("report.html", report=_report(report))


def report_fragment(report: Report) -> str:
    """The report as a piece of HTML, for notebooks."""
    return page("report_fragment.html", report=_report(report))


def card_fragment(card: Card) -> str:
    """One card as a piece of HTML, for notebooks; it is shown whole, whatever it has to tell."""
    return page("card_fragment.html", card=card_values(card) | {"brief": False})


def page(template: str, **values: Any) -> str:
    """A template of this package with the style of all pages."""
    own = (Path(__file__).parents[1] / "templates" / "study.css").read_text(encoding="utf-8")
    return templates("leadline.studies").get_template(template).render(style=stylesheet() + own, **values)


def _report(report: Report) -> dict[str, Any]:
    cards, findings = report.cards.values(), report.main_findings()
    return {
        "name": report.name,
        "command": report.command,
        "facts": facts(report.about),
        "verdicts": [verdict_values(card) for card in cards],
        "cards": [card_values(card) for card in cards if not card.skipped],
        "skipped": [verdict_values(card) for card in cards if card.skipped],
        "failed": list(report.failed()),
        "findings": [verdict_values(card) for card in findings],
        "advice": advice_values(report),
    }


def advice_values(report: Report) -> list[dict[str, Any]]:
    """What to do, each with its evidence: a comparison, or the place among the findings of the sentence it rests on."""
    places = {card.name: place for place, card in enumerate(report.main_findings(), 1)}
    return [
        advice._asdict()
        | {"evidence": evidence_values(report.cards[advice.instrument]), "place": places.get(advice.instrument)}
        for advice in report.advice()
    ]


def facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    """What was studied, in a few lines."""
    classes = [str(name) for name in about.get("classes") or ()]
    named = f" ({', '.join(classes[:_NAMED])}{', …' if len(classes) > _NAMED else ''})" if classes else ""
    told = {
        "network": f"{about['network']}, {about['parameters']:,} parameters",
        "data": f"{about['data'] or 'given'}: {about['training_rows']:,} training and {about['test_rows']:,} test rows "
        f"of shape {' × '.join(map(str, about['input_shape']))}, {about['task']}{named}",
        "loss": about["loss"],
    }
    if about.get("taken"):
        told["studied with"] = about["taken"]
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
