"""What a page asks to be run, and what it is told while that happens."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from leadline._messages import unknown
from leadline.evidence.finding import Finding
from leadline.evidence.parameters import BadInput
from leadline.evidence.registry import Entry
from leadline.evidence.runner import Task

KINDS = ("check", "falsify", "example")
SHORTEST, LONGEST = 5.0, 300.0  # seconds of a search for a counterexample
LARGEST_SEED = 2**31 - 1


class Busy(Exception):
    """Too many runs wait already: its message is one sentence to show."""


@runtime_checkable
class Known(Protocol):
    """What remembers findings from one run to the next."""

    def find(self, task: Task) -> Finding | None: ...

    def keep(self, finding: Finding) -> None: ...


def checked_seed(seed: int) -> int:
    """The seed, or BadInput if it is outside its range."""
    if not 0 <= seed <= LARGEST_SEED:
        raise BadInput(f"seed = {seed} is outside its range; give a whole number from 0 to {LARGEST_SEED}.")
    return seed


@dataclass(frozen=True)
class Wanted:
    """What is asked: to check an entry, to try to break it, or to run the example of an `object` that it shows.

    `page` names what shows the result: a later run for the same page replaces the one before.
    """

    kind: str
    entry: Entry
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    budget: float = 30.0
    object: str = ""
    page: str = ""

    def task(self) -> Task:
        """The entry at checked parameters; BadInput says what cannot be asked."""
        if self.kind not in KINDS:
            raise BadInput(unknown("kind of run", self.kind, KINDS))
        checked_seed(self.seed)
        if self.kind == "falsify" and not SHORTEST <= self.budget <= LONGEST:
            raise BadInput(f"budget = {self.budget:g} is outside its range; give {SHORTEST:g} to {LONGEST:g} seconds.")
        if self.kind == "example" and self.object not in self.entry.shows:
            raise BadInput(unknown(f"object of {self.entry.id}", self.object, self.entry.shows))
        return Task.of(self.entry, self.parameters, self.seed)


@dataclass(frozen=True)
class Event:
    """One thing that a follower of a run is told.

    ("queued", {"position": 3, "running": 2}), position 1 being the next to run; ("running", seconds);
    ("comparison", Comparison); ("falsification", Falsification: the best so far); ("done", Finding, Falsification or
    the text of an example); ("ended", "cancelled", "replaced", "closed" or "failed").
    """

    name: str
    value: Any
