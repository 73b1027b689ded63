"""The search for a counterexample in words: so far, or at its end."""

from typing import Any

from leadline.evidence import Attack, Entry, Finding, Task
from leadline.evidence.gallery import comparison_rows
from leadline.evidence.words import number

from .addresses import Addresses
from .same_again import setting, view_address


def attack_view(entry: Entry, attack: Attack, to: Addresses, *, running: bool) -> dict[str, Any]:
    """What the template shows of an attack."""
    verdict, mark, tone = attack_verdict(attack, running=running)
    return {
        "verdict": verdict,
        "mark": mark,
        "tone": tone,
        "runs": _runs(attack, running),
        "worst": None if attack.worst is None else _worst(entry, attack, attack.worst, to),
        "notes": _notes(entry, attack, to),
    }


def attack_verdict(attack: Attack, *, running: bool) -> tuple[str, str, str]:
    """How it stands, in words, as a shape and as a tone."""
    if attack.violated:
        return "violated", "✗", "bad"
    if running:
        return "no violation so far", "·", "quiet"
    if attack.worst is None:
        return "no run ended in time", "!", "warn"
    return "no violation found", "✓", "good"


def _runs(attack: Attack, running: bool) -> str:
    runs = "1 run" if attack.runs == 1 else f"{attack.runs} runs"
    return runs if running or not attack.seconds else f"{runs} in {number(attack.seconds)} s"


def _worst(entry: Entry, attack: Attack, worst: Finding, to: Addresses) -> dict[str, Any]:
    task = Task(entry, worst.parameters, worst.seed)
    return {
        "heading": "Violated at" if attack.violated else f"Closest, with slack {number(worst.slack)}, at",
        "setting": setting(task),
        "address": view_address(to, task),
        "rows": [row for row in comparison_rows(worst) if not row["c"].printed_by],
    }


def _notes(entry: Entry, attack: Attack, to: Addresses) -> list[dict[str, str]]:
    """What else happened: misses by chance, and runs that did not end, with a link to the first of these."""
    notes = []
    if attack.by_chance:
        misses = "1 statistical miss was" if attack.by_chance == 1 else f"{attack.by_chance} statistical misses were"
        notes.append({"text": f"{misses} chance: fresh seeds at the same parameters did not repeat it.", "address": ""})
    if attack.errors:
        first = attack.errors[0]
        runs = "1 run did not end:" if len(attack.errors) == 1 else f"{len(attack.errors)} runs did not end, the first:"
        task = Task(entry, first.parameters, first.seed)
        notes.append({"text": f"{runs} {first.error}", "setting": setting(task), "address": view_address(to, task)})
    return notes
