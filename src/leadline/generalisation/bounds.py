"""A bound as a value: what it says, whether its assumptions hold, and whether it says anything at all."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bound:
    """A number that some quantity does not exceed, with the range in which it holds.

    `statement` says in one line what is bounded. A bound whose assumptions are not met has `valid` False, the reason in
    `why` and the value infinity. It is `vacuous` where it is valid and not below `trivial`: 1 for a probability or an
    error, or the error 1 − 1/k of guessing among k classes. `log` is the natural logarithm of the value, which stays
    finite where the value overflows. `ingredients` are the numbers that went into it.

    >>> Bound(0.2, "error at most").vacuous, Bound(126.0, "error at most").vacuous
    (False, True)
    >>> Bound.from_log(2000.0, "probability at most").value
    inf
    """

    value: float
    statement: str
    valid: bool = True
    why: str = ""
    trivial: float = 1.0
    ingredients: Mapping[str, Any] = field(default_factory=dict)
    log: float = math.nan
    vacuous: bool = field(init=False)

    def __post_init__(self) -> None:
        value = float(self.value) if self.valid else math.inf
        if math.isnan(value) or value < 0:
            raise ValueError(f"A bound is a number that is not negative; '{self.statement}' has {self.value}.")
        log = self.log if not math.isnan(self.log) else (math.log(value) if value > 0 else -math.inf)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "log", float(log))
        object.__setattr__(self, "vacuous", self.valid and value >= self.trivial)

    @property
    def informative(self) -> bool:
        """Whether it holds and says something."""
        return self.valid and not self.vacuous

    @classmethod
    def from_log(cls, log: float, statement: str, **more: Any) -> "Bound":
        """The bound eˡᵒᵍ, infinite where that overflows."""
        value = math.exp(log) if log < 709 else math.inf
        return cls(value, statement, log=float(log), **more)

    @classmethod
    def inapplicable(cls, statement: str, why: str, **more: Any) -> "Bound":
        """A bound whose assumptions are not met, and why."""
        return cls(math.inf, statement, valid=False, why=why, **more)


def check_confidence(confidence: float, samples: int) -> float:
    """The failure probability δ = 1 − confidence of a bound from so many samples, both checked."""
    if not 0 < confidence < 1:
        raise ValueError(f"The confidence is {confidence}; give a number strictly between 0 and 1, such as 0.95.")
    if samples < 1:
        raise ValueError(f"There are {samples} samples; a bound needs at least one.")
    return 1 - confidence
