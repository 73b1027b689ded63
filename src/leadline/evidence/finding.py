"""A finding: what came out when an entry was run."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from leadline._records import fitting

from .comparison import Comparison, Value, Verdict
from .figure import Figure
from .parameters import as_word


@dataclass(frozen=True)
class Finding:
    """The comparisons and figures of one run of one entry, with all that is needed to run it again.

    `error` is empty, or one line on why the run did not end: a crash, a time-out, too little memory.
    """

    id: str
    parameters: dict[str, Value]
    seed: int
    comparisons: tuple[Comparison, ...] = ()
    figures: tuple[Figure, ...] = ()
    error: str = ""
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    asked: str = ""  # the command that gave it, where that was not `leadline check`

    @property
    def key(self) -> tuple:
        """What makes this the finding of one task and not of another."""
        return task_key(self.id, self.parameters, self.seed)

    @property
    def verdict(self) -> Verdict | None:
        """The worst of the comparisons that are not errata; None if the run did not end."""
        if self.error:
            return None
        seen = {c.verdict for c in self.comparisons if not c.erratum}
        for worst in (Verdict.FAILS, Verdict.VACUOUS, Verdict.HOLDS):
            if worst in seen:
                return worst
        return Verdict.INAPPLICABLE

    @property
    def as_expected(self) -> bool:
        """Whether nothing failed but the errata, and all of those did."""
        return not self.error and all(c.as_expected for c in self.comparisons)

    @property
    def slack(self) -> float:
        """The least slack of the comparisons that applied and are not errata; infinite if there is none."""
        applied = [c.slack for c in self.comparisons if not c.erratum and not c.unmet]
        return min(applied, default=float("inf"))

    @property
    def command(self) -> str:
        """The command that gives this finding again."""
        if self.asked:
            return self.asked
        settings = "".join(f" --set {name}={as_word(value)}" for name, value in self.parameters.items())
        return f"leadline check {self.id}{settings} --seed {self.seed}"

    def to_json(self, *, figures: bool = True) -> dict[str, Any]:
        record = {
            "id": self.id,
            "verdict": None if self.verdict is None else str(self.verdict),
            "as_expected": self.as_expected,
            "parameters": self.parameters,
            "seed": self.seed,
            "comparisons": [c.to_json() for c in self.comparisons],
            "error": self.error,
            "seconds": self.seconds,
            "versions": self.versions,
            "command": self.command,
        }
        return record | ({"figures": [f.to_json() for f in self.figures]} if figures else {})

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Finding":
        found = cls(
            id=record["id"],
            parameters=record["parameters"],
            seed=record["seed"],
            comparisons=tuple(Comparison.from_json(c) for c in record["comparisons"]),
            figures=tuple(Figure.from_json(f) for f in record["figures"]),
            error=record["error"],
            seconds=record["seconds"],
            versions=record["versions"],
        )
        return fitting(found)

    def dumps(self) -> str:
        """One line of strict JSON."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def loads(cls, line: str) -> "Finding":
        return cls.from_json(json.loads(line))

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        plain = {"text/plain": repr(self)}
        return plain if shown_as_html is None else plain | {"text/html": shown_as_html(self)}


shown_as_html: Callable[[Finding], str] | None = None  # set by leadline.presentation, which stands above this package


def task_key(id: str, parameters: dict[str, Value], seed: int) -> tuple:
    return (id, tuple(sorted(parameters.items())), seed)
