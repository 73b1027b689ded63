"""The search for a counterexample in words: so far, or at its end."""

from typing import Any

from leadline.evidence import Entry, Falsification, Finding, Task
from leadline.presentation.gallery import comparison_rows
from leadline.presentation.words import number

from .addresses import Addresses
from .same_again import setting, view_address


def falsification_view(entry: Entry, falsification: Falsification, to: Addresses, *, running: bool) -> dict[str, Any]:
    """What the template shows of an falsification."""
    verdict, mark, tone = falsification_verdict(falsification, running=running)
    return {
        "verdict": verdict,
        "mark": mark,
        "tone": tone,
        "runs": _runs(falsification, running),
        "worst": None if falsification.worst is None else _worst(entry, falsification, falsification.worst, to),
        "notes": _notes(entry, falsification, to),
    }


def falsification_verdict(falsification: Falsification, *, running: bool) -> tuple[str, str, str]:
    """How it stands, in words, as a shape and as a tone."""
    if falsification.violated:
        return "violated", "✗", "bad"
    if running:
        return "no violation so far", "·", "quiet"
    if falsification.worst is None:
        return "no run ended in time", "!", "warn"
    return "no violation found", "✓", "good"


def _runs(falsification: Falsification, running: bool) -> str:
    runs = "1 run" if falsification.runs == 1 else f"{falsification.runs} runs"
    return runs if running or not falsification.seconds else f"{runs} in {number(falsification.seconds)} s"


def _worst(entry: Entry, falsification: Falsification, worst: Finding, to: Addresses) -> dict[str, Any]:
    task = Task(entry, worst.parameters, worst.seed)
    return {
        "heading": "Violated at" if falsification.violated else f"Closest, with slack {number(worst.slack)}, at",
        "setting": setting(task),
        "address": view_address(to, task),
        "rows": [row for row in comparison_rows(worst) if not row["c"].erratum],
    }


def _notes(entry: Entry, falsification: Falsification, to: Addresses) -> list[dict[str, str]]:
    """What else happened: misses by chance, and runs that did not end, with a link to the first of these."""
    notes = []
    if falsification.by_chance:
        misses = (
            "1 statistical miss was"
            if falsification.by_chance == 1
            else f"{falsification.by_chance} statistical misses were"
        )
        notes.append({"text": f"{misses} chance: fresh seeds at the same parameters did not repeat it.", "address": ""})
    if falsification.errors:
        first = falsification.errors[0]
        runs = (
            "1 run did not end:"
            if len(falsification.errors) == 1
            else f"{len(falsification.errors)} runs did not end, the first:"
        )
        task = Task(entry, first.parameters, first.seed)
        notes.append({"text": f"{runs} {first.error}", "setting": setting(task), "address": view_address(to, task)})
    return notes
