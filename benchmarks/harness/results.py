"""What has been measured, suite by suite, in one JSON file."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from leadline._files import write_whole

from .outcome import GrowthOutcome, Outcome, outcome_from


@dataclass
class Measured:
    """One suite: when, on what machine, at what limits, and what came out.

    `remark`, written into the file by hand, is shown until the suite is measured again: what disturbed this run.
    """

    date: str
    machine: dict[str, Any]
    limits: dict[str, float]
    rivals: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome | GrowthOutcome] = field(default_factory=list)
    remark: str = ""

    def put(self, outcome: Outcome | GrowthOutcome) -> None:
        """Add an outcome, in the place of one of the same case."""
        names = [known.case for known in self.outcomes]
        if outcome.case in names:
            self.outcomes[names.index(outcome.case)] = outcome
        else:
            self.outcomes.append(outcome)


class Results:
    """The suites in a file; a file that is not there has none."""

    def __init__(self, path: Path):
        self.path = path
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.suites = {name: _measured(record) for name, record in stored.items()}

    def save(self) -> None:
        record = {name: asdict(suite) for name, suite in self.suites.items()}
        write_whole(self.path, (json.dumps(record, indent=1) + "\n").encode())

    def keep(self, cases: Mapping[str, Collection[str]]) -> None:
        """Drop what is of none of these cases, which are named suite by suite; suites come in their order."""
        self.suites = {name: self.suites[name] for name in cases if name in self.suites}
        for name, suite in self.suites.items():
            suite.outcomes = [outcome for outcome in suite.outcomes if outcome.case in cases[name]]

    def find(self, case: str) -> Outcome | GrowthOutcome | None:
        return next((o for suite in self.suites.values() for o in suite.outcomes if o.case == case), None)


def _measured(record: dict[str, Any]) -> Measured:
    return Measured(**{**record, "outcomes": [outcome_from(outcome) for outcome in record["outcomes"]]})
