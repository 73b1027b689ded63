"""What has been measured, suite by suite, in one JSON file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadline.whole_files import write_whole

from .outcome import GrowthOutcome, Outcome, outcome_from, to_json


@dataclass
class Measured:
    """One suite: when, on what machine, at what limits, and what came out."""

    date: str
    machine: dict[str, Any]
    limits: dict[str, float]
    rivals: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome | GrowthOutcome] = field(default_factory=list)

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
        record = {name: _record(suite) for name, suite in self.suites.items()}
        write_whole(self.path, (json.dumps(record, indent=1) + "\n").encode())

    def find(self, case: str) -> Outcome | GrowthOutcome | None:
        return next((o for suite in self.suites.values() for o in suite.outcomes if o.case == case), None)


def _record(suite: Measured) -> dict[str, Any]:
    return {**vars(suite), "outcomes": [to_json(outcome) for outcome in suite.outcomes]}


def _measured(record: dict[str, Any]) -> Measured:
    return Measured(**{**record, "outcomes": [outcome_from(outcome) for outcome in record["outcomes"]]})
