"""Errata, each beside the comparison that holds in its place."""

from typing import Any

from leadline.evidence import Comparison, Erratum, Verdict


def erratum_pairs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errata among the rows of a finding, grouped by the row of which they are the wrong form."""
    right = {row["c"].what: row | {"sentence": sentence(row)} for row in reversed(rows) if not row["c"].erratum}
    pairs: dict[str, dict[str, Any]] = {}
    for row in rows:
        erratum: Erratum | None = row["c"].erratum
        if erratum:
            pair = pairs.setdefault(erratum.of, {"right": right.get(erratum.of), "wrong": []})
            _add(pair["wrong"], row, erratum)
    return list(pairs.values())


def sentence(row: dict[str, Any]) -> str:
    """Measurement, relation and prediction of a row in one line."""
    if row["c"].unmet:
        return row["verdict"]
    return f"measured {row['measured']} {row['relation']} {row['predicted']}: {row['verdict']}"


def _add(shown: list[dict[str, Any]], row: dict[str, Any], erratum: Erratum) -> None:
    """Add an erratum; one that several texts print in the same words is shown once."""
    comparison: Comparison = row["c"]
    form = {"prints": erratum.prints, "what": comparison.what, "sentence": sentence(row)}
    for other in shown:
        if form.items() <= other.items():
            if erratum.by not in other["sources"]:
                other["sources"].append(erratum.by)
            return
    shape = {Verdict.FAILS: ("✗", "bad"), Verdict.INAPPLICABLE: ("–", "quiet")}.get(comparison.verdict, ("✓", "warn"))
    shown.append(form | dict(zip(("mark", "tone"), shape, strict=True)) | {"sources": [erratum.by]})
