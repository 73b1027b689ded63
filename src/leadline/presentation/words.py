"""How verdicts, numbers and relations are said to people, in the terminal and on pages alike."""

import math
from typing import Any

from leadline.evidence.comparison import Comparison, Verdict
from leadline.evidence.finding import Finding
from leadline.evidence.registry import Entry

MARKS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.VACUOUS: "○", Verdict.INAPPLICABLE: "–", None: "!"}

_RELATIONS = {
    "at most": "≤",
    "below": "<",
    "at least": "≥",
    "above": ">",
    "close": "≈",
    "exactly": "=",
    "slope": "slope ≈",
    "frequency": "≈",
    "frequency at most": "≤",
    "frequency at least": "≥",
    "mean": "mean ≈",
    "mean at most": "mean ≤",
    "mean at least": "mean ≥",
    "reference": "≈",
    "distribution": "p ≥",
    "smaller": "p ≤",
    "met": "=",
}


def number(value: Any) -> str:
    """Four significant digits, whole numbers in full, truth values as words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "not a number")
    if value == int(value) and abs(value) < 1e7:
        return str(int(value)).replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def relation(comparison: Comparison) -> str:
    return _RELATIONS.get(comparison.relation, comparison.relation)


def sides(comparison: Comparison) -> tuple[str, str, str]:
    """What was measured, the relation and what was predicted; empty texts for an assumption that is not met."""
    if comparison.relation == "met":
        return "", "", ""
    return number(comparison.measured), relation(comparison), number(comparison.predicted)


def comparison_verdict(comparison: Comparison) -> str:
    """The verdict in words, with the missing assumption or the erratum's success at failing."""
    if comparison.unmet:
        return f"inapplicable: needs that {comparison.unmet}"
    if comparison.erratum:
        return "fails, as it must" if comparison.as_expected else "holds, but should fail"
    if comparison.empirical and comparison.verdict is Verdict.FAILS:
        return "not confirmed"
    if comparison.relation == "reference":
        return "reproduces the reference" if comparison.as_expected else "misses the reference"
    return str(comparison.verdict)


def unconfirmed(finding: Finding, entry: Entry | None = None) -> bool:
    """Whether all that failed is empirical: marked so, or of an empirical entry that marks none of its comparisons."""
    wrong = [c for c in finding.comparisons if not c.as_expected]
    whole = entry is not None and entry.empirical and not any(c.empirical for c in finding.comparisons)
    return finding.verdict is Verdict.FAILS and all((c.empirical or whole) and not c.erratum for c in wrong)


def finding_verdict(finding: Finding, entry: Entry | None = None) -> str:
    if finding.error:
        return "error"
    if unconfirmed(finding, entry):
        return "not confirmed at this scale"
    if finding.as_expected or finding.verdict is Verdict.FAILS:
        return str(finding.verdict)
    return "an erratum does not fail"


def mark(finding: Finding) -> str:
    """A shape for the verdict, so that colour is never the only sign."""
    return MARKS[finding.verdict] if finding.as_expected or finding.error else MARKS[Verdict.FAILS]
