"""What differs between two reports: verdicts, numbers beyond their uncertainty, and what only one of them has."""

import math
from typing import Any, NamedTuple

from leadline.evidence import Comparison
from leadline.evidence.comparison import json_number
from leadline.presentation.words import comparison_verdict

from ..card import Card
from ..report import Report

_MIDDLE = ("share", "value", "mean")  # what an estimate calls itself beside its `low` and `high`
_MEASURED = ("frequency", "mean", "slope")  # relations whose interval is of what was measured, not of the prediction


class Estimate(NamedTuple):
    """A number with the ends of its interval; None where its uncertainty is not known."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its ends, where both are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class VerdictPair(NamedTuple):
    """What came out in both; `what` is empty for the verdict of the whole card."""

    instrument: str
    what: str
    first: str
    second: str


class NumberPair(NamedTuple):
    """One number of an instrument in both reports."""

    instrument: str
    name: str
    first: Estimate
    second: Estimate

    @property
    def apart(self) -> bool | None:
        """Whether the intervals have no number in common; None where one of them is not known."""
        a, b = self.first.interval, self.second.interval
        return None if a is None or b is None else a[0] > b[1] or b[0] > a[1]


class Differences(NamedTuple):
    """How two reports differ. Where `not_compared` says why, the networks answer different questions: nothing else is
    said. `only` has the instruments of which one report has no result, with what it says instead."""

    not_compared: tuple[str, ...]
    verdicts: tuple[VerdictPair, ...]
    numbers: tuple[NumberPair, ...]
    only: tuple[VerdictPair, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as strict JSON."""
        numbers = [
            pair._asdict() | {"first": _estimate_record(pair.first), "second": _estimate_record(pair.second)}
            for pair in self.numbers
        ]
        return {
            "not_compared": list(self.not_compared),
            "verdicts": [pair._asdict() for pair in self.verdicts],
            "numbers": numbers,
            "only": [pair._asdict() for pair in self.only],
        }


def differences(first: Report, second: Report) -> Differences:
    """How two reports differ; nothing but the reason where data or losses are not the same."""
    reasons = _reasons(first.about, second.about)
    names = list(dict.fromkeys([*first.cards, *second.cards]))
    both = [n for n in names if all(n in r.cards and _has_result(r.cards[n]) for r in (first, second))]
    if reasons:
        return Differences(reasons, (), (), ())
    verdicts = [v for n in both for v in _verdicts(first.cards[n], second.cards[n])]
    numbers = [p for n in both for p in compared_numbers(first.cards[n], second.cards[n]) if p.apart]
    told = [VerdictPair(n, "", *(_instead(r.cards.get(n)) for r in (first, second))) for n in names if n not in both]
    only = [pair for pair in told if pair.first != pair.second]
    return Differences((), tuple(verdicts), tuple(sorted(numbers, key=_distance, reverse=True)), tuple(only))


def _estimate_record(estimate: Estimate) -> dict[str, Any]:
    return {name: None if value is None else json_number(value) for name, value in estimate._asdict().items()}


def compared_numbers(first: Card, second: Card) -> list[NumberPair]:
    """Every single number that an instrument found in both, with its uncertainty where that is known."""
    a, b = estimates(first), estimates(second)
    return [NumberPair(first.name, name, a[name], b[name]) for name in a if name in b]


def estimates(card: Card) -> dict[str, Estimate]:
    """The single numbers of a card by name, with their intervals: first those of its comparisons, then the others."""
    told = {c.what: _estimated(c) for c in card.finding.comparisons if _is_estimate(c)}
    return told | _from_numbers(card.numbers)


def _from_numbers(numbers: dict[str, Any], prefix: str = "") -> dict[str, Estimate]:
    found = {}
    for name, value in numbers.items():
        shown = prefix + name.replace("_", " ")
        if _is_number(value):
            found[shown] = Estimate(float(value), *_ends(name, float(value), numbers))
        elif isinstance(value, dict) and {"low", "high"} <= value.keys() and name.endswith("_interval"):
            continue  # the ends of another number
        elif isinstance(value, dict) and (middle := next((m for m in _MIDDLE if _is_number(value.get(m))), None)):
            found[shown] = Estimate(float(value[middle]), *_ends(middle, float(value[middle]), value))
        elif isinstance(value, dict) and not prefix:
            found |= _from_numbers(value, f"{shown}: ")
    return found


def _ends(name: str, value: float, numbers: dict[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """The interval that stands beside a number: `gap_interval` of gap, `trace_reach` of trace, `critical_low` and
    `critical_high` of critical_batch, `low` and `high` of a share; only if the number lies in it."""
    for stem in (name, name.rpartition("_")[0]):
        ends: Any = numbers.get(f"{stem}_interval")
        if isinstance(ends, dict):
            ends = ends.get("low"), ends.get("high")
        elif not isinstance(ends, list | tuple):
            reach: Any = numbers.get(f"{name}_reach")
            ends = numbers.get(f"{stem}_low" if stem else "low"), numbers.get(f"{stem}_high" if stem else "high")
            ends = (value - reach, value + reach) if _is_number(reach) else ends
        low, high = map(_as_number, ends) if len(ends) == 2 else (None, None)
        if low is not None and high is not None and low <= value <= high:
            return low, high
    return None, None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _as_number(value: Any) -> float | None:
    """A number, also one that JSON writes as a word."""
    value = {"Infinity": math.inf, "-Infinity": -math.inf}.get(value, value) if isinstance(value, str) else value
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def _is_estimate(comparison: Comparison) -> bool:
    """Of several cases only the worst is kept, which need not be the same in two reports."""
    own = comparison.relation.split(" at ")[0] in _MEASURED and comparison.interval is not None
    return own and comparison.cases == 1 and not comparison.unmet


def _estimated(comparison: Comparison) -> Estimate:
    return Estimate(float(comparison.measured), *(comparison.interval or ()))


def _verdicts(first: Card, second: Card) -> list[VerdictPair]:
    found = [VerdictPair(first.name, "", first.verdict, second.verdict)] if first.verdict != second.verdict else []
    theirs = {c.what: comparison_verdict(c) for c in second.finding.comparisons}
    for c in first.finding.comparisons:
        said = comparison_verdict(c)
        if theirs.get(c.what, said) != said:
            found.append(VerdictPair(first.name, c.what, said, theirs[c.what]))
    return found


def _has_result(card: Card) -> bool:
    return not card.skipped and not card.finding.error


def _instead(card: Card | None) -> str:
    if card is None:
        return "not run"
    if card.skipped:
        return f"left out: {card.skipped}"
    return f"failed: {card.finding.error}" if card.finding.error else card.verdict


def _distance(pair: NumberPair) -> float:
    """The difference in units of both half widths."""
    intervals = filter(None, (pair.first.interval, pair.second.interval))
    reach = sum(high - low for low, high in intervals) / 2
    return abs(pair.first.value - pair.second.value) / reach if 0 < reach < math.inf else 0.0


def _reasons(a: dict[str, Any], b: dict[str, Any]) -> tuple[str, ...]:
    """Why the numbers of two reports are not of the same question, in sentences."""
    found = []
    keys = ("data_digest",) if a.get("data_digest") and b.get("data_digest") else ("data", "training_rows", "test_rows")
    if any(a.get(key) != b.get(key) for key in keys):
        found.append(f"They were studied on different data: {_data(a)}, and {_data(b)}.")
    if a.get("loss") != b.get("loss"):
        found.append(f"Their losses differ: {a.get('loss')}, and {b.get('loss')}.")
    return tuple(found)


def _data(about: dict[str, Any]) -> str:
    shape = " × ".join(map(str, about.get("input_shape", [])))
    return f"{about.get('data') or 'given'} ({about.get('training_rows')} training rows of shape {shape})"
