"""Forms that a text prints wrongly, each beside the comparison that holds in its place."""

import math
import re
from typing import Any

from leadline.evidence import SOURCES, Comparison, Verdict

_CONVINCING = 0.65
_SMALL_WORDS = {
    "a", "after", "against", "all", "an", "and", "are", "as", "at", "by", "for", "from", "in", "is", "it", "its", "of",
    "on", "one", "over", "the", "to", "with",
}  # fmt: skip


def printed_groups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The printed forms among the rows of a finding, grouped by the row that holds in their place.

    That row is None where no comparison is near enough to the printed one: then it is the statement of the entry.
    """
    groups: dict[int | None, dict[str, Any]] = {}
    for place, row in enumerate(rows):
        if row["c"].printed_by:
            nearest = _nearest(rows, place)
            right = None if nearest is None else rows[nearest] | {"sentence": sentence(rows[nearest])}
            _add(groups.setdefault(nearest, {"right": right, "wrong": []})["wrong"], row)
    return list(groups.values())


def sentence(row: dict[str, Any]) -> str:
    """Measurement, relation and prediction of a row in one line."""
    if row["c"].unmet:
        return row["verdict"]
    return f"measured {row['measured']} {row['relation']} {row['predicted']}: {row['verdict']}"


def _add(told: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Add a printed form; one that several texts print in the same words is told once."""
    comparison: Comparison = row["c"]
    form = {"form": comparison.form, "what": comparison.what, "sentence": sentence(row)}
    for other in told:
        if form.items() <= other.items():
            if comparison.printed_by not in other["sources"]:
                other["sources"].append(comparison.printed_by)
            return
    shape = {Verdict.FAILS: ("✗", "bad"), Verdict.INAPPLICABLE: ("–", "quiet")}.get(comparison.verdict, ("✓", "warn"))
    told.append(form | dict(zip(("mark", "tone"), shape, strict=True)) | {"sources": [comparison.printed_by]})


def _nearest(rows: list[dict[str, Any]], place: int) -> int | None:
    """The place of the comparison most like the printed one at `place`: of those alike the last one before it."""
    printed: Comparison = rows[place]["c"]
    scored = [
        (likeness(printed, row["c"]), -abs(place - other - 0.5), other)
        for other, row in enumerate(rows)
        if not row["c"].printed_by and not _of_a_text(row["c"].what)
    ]
    score, _, nearest = max(scored, default=(0.0, 0.0, None))
    return nearest if score >= _CONVINCING else None


def _of_a_text(what: str) -> bool:
    """Whether a comparison is on what a text prints: it tells what that does, and repairs nothing."""
    return "printed" in what or bool(set(re.findall(r"\w+", what)) & set(SOURCES))


def likeness(printed: Comparison, other: Comparison) -> float:
    """How much two comparisons are about one thing: the same quantity, the same number, or much the same words."""
    mine, theirs = _words(printed.what), _words(other.what)
    shared = 2 * len(mine & theirs) / max(len(mine) + len(theirs), 1)
    return (
        3.0 * (printed.what == other.what)
        + 1.0 * _same(printed.measured, other.measured)
        + 0.5 * _same(printed.predicted, other.predicted)
        + shared
    )


def _words(what: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", what.lower())) - _SMALL_WORDS


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers agree that would hardly do so by chance, as 0, 1 and 2 do."""
    if any(isinstance(v, bool | str) or not math.isfinite(v) or (v == int(v) and abs(v) < 20) for v in (a, b)):
        return False
    return math.isclose(a, b, rel_tol=1e-9)
