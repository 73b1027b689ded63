"""What came out of a race or of a growth, as data that goes into JSON and back."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from .case import Case, Growth

_RESAMPLES, _CONFIDENCE = 2000, 0.95
_HALF = 0.5


@dataclass
class SideOutcome:
    """One side: its times, its largest memory above what it held before, how its answer differed, or why it is out."""

    name: str
    seconds: list[float]
    bytes: float = 0.0
    difference: float | None = None
    failure: str = ""

    @property
    def median(self) -> float | None:
        return median(self.seconds) if self.seconds and not self.failure else None


@dataclass
class Outcome:
    """A race: `ratio` is the median time of the best rival over Leadline's, above 1 where Leadline is faster.

    `flops` and `bytes` of one run in `precision` are what the machine's limits are compared with, which gives
    `limit_share`: 1 where no faster run is possible on this machine.
    """

    case: str
    sides: list[SideOutcome]
    count: int = 1
    asked: float | None = None
    best_rival: str = ""
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    flops: float = 0.0
    bytes: float = 0.0
    precision: str = "float32"
    limit_share: float | None = None
    with_itself: bool = False  # both sides are Leadline's, in two states
    kind: str = field(default="race", init=False)

    @classmethod
    def of(cls, case: Case, sides: list[SideOutcome]) -> "Outcome":
        work = case.work
        made = cls(case.name, sides, case.count, case.asked, "", None, None, work.flops, work.bytes, work.precision)
        timed = [side for side in sides[1:] if side.median is not None]
        if sides[0].median is None or not timed:
            return made
        best = min(timed, key=lambda side: side.median)
        made.best_rival, made.ratio = best.name, best.median / sides[0].median
        made.interval = ratio_interval(best.seconds, sides[0].seconds)
        return made

    @property
    def leadline(self) -> SideOutcome:
        return self.sides[0]

    @property
    def behind(self) -> bool:
        """Whether Leadline misses what was asked, or lost to a rival where nothing was."""
        return self.ratio is None or self.ratio < (self.asked or 1.0)

    @property
    def refused(self) -> list[str]:
        return [f"{self.case}: {side.name}: {side.failure}" for side in self.sides if side.failure]

    def at(self, limits: dict[str, float]) -> None:
        """Note the share of the limit: the time that the work takes at these limits over Leadline's."""
        if self.leadline.median is not None and (self.flops or self.bytes):
            least = max(self.flops / limits[self.precision], self.bytes / limits["bandwidth"])
            self.limit_share = least / self.leadline.median

    @property
    def wants_reason(self) -> bool:
        """Whether it is behind, or below half of the machine's limit."""
        return self.behind or (self.limit_share is not None and self.limit_share < _HALF)


@dataclass
class GrowthOutcome:
    """Times at several sizes, and the slope of their logarithms beside what theory says."""

    case: str
    variable: str
    sizes: list[int]
    seconds: list[list[float]]
    predicted: float
    slope: float | None = None
    interval: tuple[float, float] | None = None
    within: float = 0.0
    failure: str = ""
    kind: str = field(default="growth", init=False)

    @classmethod
    def of(cls, growth: Growth, seconds: list[list[float]], failure: str) -> "GrowthOutcome":
        made = cls(
            growth.name,
            growth.variable,
            list(growth.sizes),
            seconds,
            growth.predicted,
            within=growth.within,
            failure=failure,
        )
        if not failure:
            made.slope, made.interval = slope_interval(growth.sizes, seconds)
        return made

    @property
    def behind(self) -> bool:
        """Whether the cost grows faster than theory says, beyond the interval."""
        return self.interval is None or self.interval[0] - self.within > self.predicted

    @property
    def wants_reason(self) -> bool:
        return self.behind

    @property
    def refused(self) -> list[str]:
        return [f"{self.case}: {self.failure}"] if self.failure else []


def outcome_from(record: dict[str, Any]) -> Outcome | GrowthOutcome:
    """From the record that `asdict` gives."""
    record = dict(record)
    kind = record.pop("kind")
    record.pop("reason", None)  # in older files; reasons are those of the suites
    if record.get("interval"):
        record["interval"] = tuple(record["interval"])
    if kind == "growth":
        return GrowthOutcome(**record)
    return Outcome(**{**record, "sides": [SideOutcome(**side) for side in record["sides"]]})


def disagreement(answer: np.ndarray, right: np.ndarray) -> float:
    """max |answer − right| over max |right|; infinite where the shapes differ or a number is not finite.

    >>> disagreement(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    0.5
    """
    if answer.shape != right.shape or not (np.isfinite(answer).all() and np.isfinite(right).all()):
        return float("inf")
    scale = float(np.max(np.abs(right), initial=0.0))
    gap = float(np.max(np.abs(answer - right), initial=0.0))
    return gap / scale if scale else gap


def ratio_interval(above: list[float], below: list[float]) -> tuple[float, float] | None:
    """A 95% bootstrap interval of median(above)/median(below) over repetitions; None with fewer than three of each."""
    if min(len(above), len(below)) < 3:
        return None
    found = bootstrap(
        (above, below),
        lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
        n_resamples=_RESAMPLES,
        confidence_level=_CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def slope_interval(sizes: tuple[int, ...], seconds: list[list[float]]) -> tuple[float, tuple[float, float]]:
    """The least-squares slope of the log of the median times on log size, with a 95% bootstrap interval.

    Each size's repetitions are resampled on their own, so that two sizes are enough.
    """
    x = np.log(np.asarray(sizes, float))
    x = x - x.mean()

    def fitted(*groups: np.ndarray, axis: int) -> np.ndarray:
        logs = np.stack([np.log(np.median(group, axis=axis)) for group in groups])
        return np.tensordot(x, logs, 1) / (x @ x)

    found = bootstrap(
        seconds,
        fitted,
        n_resamples=_RESAMPLES,
        confidence_level=_CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    interval = found.confidence_interval
    return float(fitted(*map(np.asarray, seconds), axis=0)), (float(interval.low), float(interval.high))
