"""What is measured, as plain data that every environment can import."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LEADLINE = "Leadline"

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Side:
    """One who takes part: `make(inputs, **settings)` of a module gives the run that is timed, a function of nothing.

    With it, as a pair, it may give what turns a result into the answer in the order that all have; this is not timed.
    `environment` names the requirement file under rivals/; without one it is Leadline's own.
    """

    name: str
    program: str
    make: str
    environment: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What one run cannot do without: arithmetic in matrix products, and bytes to and from memory."""

    flops: float = 0.0
    bytes: float = 0.0
    precision: str = "float32"


@dataclass(frozen=True)
class Case:
    """A race. Leadline's side is the first; all get the same inputs and settings.

    Answers agree if no entry differs by more than `tolerance` of the largest entry of Leadline's answer, or, with
    `expected`, of the input of that name. Times are shown for one of the `count` things that a run does. `asked` is the
    ratio that Leadline should reach; `reason` says what is left to bound it. Cases that are `quick` are in the guard.
    """

    name: str
    sides: tuple[Side, ...]
    inputs: Callable[[], Inputs]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    expected: str = ""
    asked: float | None = None
    count: int = 1
    work: Work = Work()
    reason: str = ""
    quick: bool = True


@dataclass(frozen=True)
class Growth:
    """How the time of Leadline's side grows with `variable`: the slope on logarithmic axes beside that of theory.

    `inputs` are those of a size, which the side also gets as a setting; `count` is what a run of that size does. On so
    few sizes a slope is known no better than `within`, beyond the scatter of repetitions.
    """

    name: str
    side: Side
    variable: str
    sizes: tuple[int, ...]
    predicted: float
    inputs: Callable[[int], Inputs] = lambda size: {}
    within: float = 0.0
    reason: str = ""
    quick: bool = False

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.side,)
