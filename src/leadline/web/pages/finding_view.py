"""A finding in the words of the result panel."""

import json
from collections.abc import Callable
from typing import Any

from leadline.evidence import Entry, Figure, Finding
from leadline.presentation.gallery import comparison_rows, finding_tone
from leadline.presentation.words import finding_verdict, mark

from .erratum_pairs import erratum_pairs

_MEANINGS = {
    "fails": "what was measured contradicts what was predicted",
    "vacuous": "true, but it says nothing here, like a bound on a risk that is above 1",
    "inapplicable": "an assumption is not met at these parameters, so nothing is claimed",
    "not confirmed at this scale": "it is often found and no theorem; this run does not show it",
    "an erratum does not fail": "a form that a text states wrongly comes out true at these parameters",
    "error": "the run did not end",
}


def finding_view(finding: Finding, entry: Entry, draw: Callable[[Figure], str] | None = None) -> dict[str, Any]:
    """What the template shows of a finding; `draw` gives a figure as SVG, without it the browser draws."""
    rows = comparison_rows(finding)
    verdict = finding_verdict(finding, entry)
    return {
        "verdict": verdict,
        "meaning": _MEANINGS.get(verdict, ""),
        "mark": mark(finding),
        "tone": finding_tone(finding, entry),
        "took": f"{finding.seconds:.1f} s" if finding.seconds else "",
        "error": finding.error,
        "rows": [row for row in rows if not row["c"].erratum],
        "errata": erratum_pairs(rows),
        "figures": [
            {"title": f.title, "svg": draw(f) if draw else "", "spec": "" if draw else _script_json(f.spec)}
            for f in finding.figures
        ],
    }


def _script_json(spec: dict[str, Any]) -> str:
    """JSON that cannot end the script element that holds it."""
    return json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
