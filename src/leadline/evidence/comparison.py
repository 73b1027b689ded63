"""The one central type: a prediction, a measurement, and the relation that should hold between them."""

import math
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

from leadline._records import fitting

Value = float | int | bool | str


class Verdict(StrEnum):
    """What a comparison comes to."""

    HOLDS = "holds"
    FAILS = "fails"
    VACUOUS = "vacuous"
    INAPPLICABLE = "inapplicable"


class Inapplicable(Exception):
    """Raised by `assume`: an assumption of the claim is not met at these parameters."""


@dataclass(frozen=True)
class Erratum:
    """Where a text has it wrong: `by` whom, what it `prints`, and the comparison `of` which it is the wrong form."""

    by: str
    prints: str
    of: str


@dataclass(frozen=True)
class Comparison:
    """A prediction beside a measurement.

    `slack` is signed and normalised: positive with room to spare, 0 on the edge, negative when violated.
    Where arrays were compared, `measured` and `predicted` are the element with the least slack among `cases`.
    `chance` is the probability that a true statement misses by bad luck; 0 for a statement without randomness.
    `empirical` marks what is often found and no theorem: where it fails, it is not confirmed.

    >>> c = Comparison("updates", "at most", measured=23, predicted=99.8, slack=0.77)
    >>> str(c.verdict), str(c.given(False, "the data are separable").verdict)
    ('holds', 'inapplicable')
    """

    what: str
    relation: str
    measured: Value
    predicted: Value
    slack: float
    cases: int = 1
    chance: float = 0.0
    interval: tuple[float, float] | None = None
    says_nothing: bool = False
    unmet: str = ""
    erratum: Erratum | None = None
    empirical: bool = False

    @property
    def verdict(self) -> Verdict:
        if self.unmet:
            return Verdict.INAPPLICABLE
        if not self.slack >= 0:
            return Verdict.FAILS
        return Verdict.VACUOUS if self.says_nothing else Verdict.HOLDS

    @property
    def as_expected(self) -> bool:
        """Whether this came out as theory has it: an erratum must fail, anything else must not."""
        if self.erratum:
            return self.verdict in (Verdict.FAILS, Verdict.INAPPLICABLE)
        return self.verdict is not Verdict.FAILS

    def given(self, condition: Any, assumption: str) -> "Comparison":
        """This comparison where `condition` is true; inapplicable, for want of `assumption`, where it is not."""
        return self if condition else replace(self, unmet=assumption)

    def as_empirical(self) -> "Comparison":
        """This comparison as what is often found, among theorems."""
        return replace(self, empirical=True)

    def to_json(self) -> dict[str, Any]:
        record = asdict(self) | {"verdict": str(self.verdict), "as_expected": self.as_expected}
        record["interval"] = None if self.interval is None else [json_number(v) for v in self.interval]
        return record | {name: json_number(record[name]) for name in ("measured", "predicted", "slack")}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Comparison":
        kept = {f.name: record[f.name] for f in fields(cls)}
        kept["erratum"] = None if kept["erratum"] is None else fitting(Erratum(**kept["erratum"]))
        for name in ("measured", "predicted", "slack"):
            kept[name] = _decode(kept[name])
        if kept["interval"] is not None:
            low, high = kept["interval"]
            kept["interval"] = (_decode(low), _decode(high))
        return fitting(cls(**kept))


_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def json_number(value: Value) -> Value:
    """JSON has no non-finite numbers; they are written as the words JavaScript prints for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _decode(value: Value) -> Value:
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def erratum(wrong: Comparison, *, of: Comparison, by: str, prints: str) -> Comparison:
    """The `wrong` form of the comparison `of`, as the source `by` has it in the words `prints`: it must fail.

    >>> from leadline.evidence import at_most
    >>> right = at_most(20, 20, "updates on 20 basis vectors")
    >>> wrong = erratum(at_most(20, 20, "updates", strict=True), of=right, by="eth", prints="fewer than R²/γ² updates")
    >>> str(wrong.verdict), wrong.as_expected
    ('fails', True)
    """
    return replace(wrong, erratum=Erratum(by, prints, of.what))


def assume(condition: Any, assumption: str) -> None:
    """Stop the claim as inapplicable unless `condition` is true."""
    if not condition:
        raise Inapplicable(assumption)
