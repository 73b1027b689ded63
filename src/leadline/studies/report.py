"""The report of a study: its cards as they come, kept in a directory, resumed, read back."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leadline._files import write_whole
from leadline._messages import unknown
from leadline._records import fitting
from leadline.evidence import BadInput, Comparison, Finding
from leadline.evidence.comparison import json_number

from .card import Card, card_of
from .instrument_contract import Meaning
from .instruments import instruments
from .program_versions import program_versions
from .subject import Subject

if TYPE_CHECKING:
    from .pages.differences import Differences

REPORT = "report.json"
PAGE = "report.html"
SIDE_BY_SIDE = "against.html"
FINDINGS = 3  # of the summary
_ROWS_IN_DIGEST = 200  # whose numbers tell these data from others


class Advice(NamedTuple):
    """What to do, which instrument says so, and why: a comparison of its card, or the sentence of the card itself.

    `change` from 0 to 1 is how much following it would change, as far as that was measured.
    """

    instrument: str
    sentence: str
    change: float
    evidence: Comparison | None
    finding: str


@dataclass(frozen=True)
class Report:
    """What a study found. `report["curvature"]` are the numbers of one instrument, `report.cards` everything.

    `against` is the report of a second network beside which this one is shown; None where there is none.
    """

    name: str
    about: dict[str, Any]
    cards: dict[str, Card] = field(default_factory=dict)
    command: str = ""
    against: "Report | None" = None

    def __getitem__(self, instrument: str) -> dict[str, Any]:
        if instrument not in self.cards:
            raise KeyError(unknown("instrument", instrument, self.cards))
        return self.cards[instrument].numbers

    def verdicts(self) -> dict[str, str]:
        """The verdict of every instrument."""
        return {name: card.verdict for name, card in self.cards.items()}

    def main_findings(self, count: int = FINDINGS) -> list[Card]:
        """The cards that matter most, by the weight of their meaning; failures of theory come first among equals.

        Cards that say that all is as it should be, or that only ask for more to be given, are not among them.
        """
        told = [card for card in self.cards.values() if card.matters]
        return sorted(told, key=lambda c: (-c.told.weight, c.verdict != "fails"))[:count]

    def advice(self) -> list[Advice]:
        """What to do: what would change most first, then what matters most."""
        told = [c for c in self.cards.values() if c.meaning is not None and c.meaning.advice]
        return [
            Advice(c.name, c.told.advice, c.told.change, c.evidence, c.told.sentence)
            for c in sorted(told, key=lambda c: (-c.told.change, -c.told.weight))
        ]

    def skipped(self) -> dict[str, str]:
        """The instruments that do not apply, and why."""
        return {name: card.skipped for name, card in self.cards.items() if card.skipped}

    def failed(self) -> dict[str, str]:
        """The instruments that raised an error, and which: defects of Leadline, or of what the network computes."""
        return {name: card.finding.error for name, card in self.cards.items() if card.finding.error}

    def differences(self) -> "Differences":
        """How it differs from the report that it stands against: verdicts, numbers beyond their uncertainty."""
        from .pages.differences import differences

        if self.against is None:
            raise BadInput("There is no second report; make this one with leadline.study(..., against=other).")
        return differences(self, self.against)

    def to_json(self, *, figures: bool = True) -> dict[str, Any]:
        """The report as strict JSON (docs/json.md says what is in it), without the one that it stands against."""
        return {
            "name": self.name,
            "command": self.command,
            "about": _strict(self.about),
            "summary": {
                "verdicts": self.verdicts(),
                "findings": [{"instrument": c.name, "sentence": c.told.sentence} for c in self.main_findings()],
                "advice": [_advice_record(advice) for advice in self.advice()],
                "skipped": self.skipped(),
                "failed": self.failed(),
            },
            "cards": [card_record(card, figures=figures) for card in self.cards.values()],
        }

    def save(self, directory: Path | str) -> Path:
        """Write report.json and report.html; the page is returned."""
        from .pages.report_page import report_html

        directory = Path(directory)
        text = json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1)
        write_whole(directory / REPORT, text.encode())
        write_whole(directory / PAGE, report_html(self).encode())
        return directory / PAGE

    def save_against(self, directory: Path | str) -> Path:
        """Write against.html, this report beside the one that it stands against; the page is returned."""
        from .pages.against_page import comparison_html

        if self.against is None:
            raise BadInput("There is no second report; make this one with leadline.study(..., against=other).")
        page = Path(directory) / SIDE_BY_SIDE
        write_whole(page, comparison_html(self, self.against).encode())
        return page

    def _repr_html_(self) -> str:
        from .pages.against_page import comparison_fragment
        from .pages.report_page import report_fragment

        return report_fragment(self) if self.against is None else comparison_fragment(self, self.against)

    def __repr__(self) -> str:
        return f"Report({self.name!r}, " + ", ".join(f"{n}: {v}" for n, v in self.verdicts().items()) + ")"


def run_study(
    subject: Subject,
    *,
    only: Sequence[str] = (),
    seed: int = 0,
    command: str = "",
    done: dict[str, Card] | None = None,
    before: Callable[[str], None] = lambda name: None,
) -> Iterator[Card]:
    """Run the instruments (all, or those named in `only`) one after the other; one that fails does not stop the rest.

    Cards in `done` are given again as they are. `before` is told the name of each instrument that is about to run.
    """
    for name in chosen_instruments(only):
        if done and name in done:
            yield done[name]
            continue
        before(name)
        own = f"{command} --only {name}" if command else ""
        yield card_of(instruments()[name], subject, seed=seed, command=own, raising=False)


def chosen_instruments(only: Sequence[str] = ()) -> list[str]:
    """The names of the instruments to run, in the order of the report; BadInput for one that does not exist."""
    for name in only:
        if name not in instruments():
            raise BadInput(unknown("instrument", name, instruments()))
    return [name for name in instruments() if not only or name in only]


def describe_subject(subject: Subject) -> dict[str, Any]:
    """What a report says of its subject."""
    past = subject.past
    return {
        "network": type(subject.module).__name__ if subject.module is not None else "function",
        "parameters": subject.size,
        "data": subject.data,
        "data_digest": data_digest(subject),
        "training_rows": subject.train.count,
        "test_rows": 0 if subject.test is None else subject.test.count,
        "input_shape": list(subject.input_shape),
        "outputs": subject.outputs,
        "kind": subject.kind,
        "taken": subject.taken,
        "classes": list(subject.classes),
        "task": f"{subject.outputs} classes" if subject.classifies else f"{subject.outputs} real targets",
        "loss": subject.loss,
        "optimiser": past.optimiser,
        "step": past.step,
        "batch": past.batch,
        "epochs": past.epochs,
        "start_known": past.start is not None,
        "rows_looked_at": subject.sample.count,
        "minutes": subject.budget.minutes,
        "memory": subject.budget.memory,
        "seed": subject.seed,
        "versions": program_versions(),
    }


def data_digest(subject: Subject) -> str:
    """The same for the same rows, whatever the order of an input's axes: frameworks differ in where channels stand."""
    digest = hashlib.sha256()
    for rows in filter(None, (subject.train, subject.test)):
        targets = np.asarray(rows.targets)
        whole = targets.dtype.kind in "biu"
        digest.update(np.ascontiguousarray(targets, np.int64 if whole else np.float32).data)
        some = rows.first(_ROWS_IN_DIGEST).inputs
        digest.update(np.sort(np.asarray(some, np.float32).reshape(len(some), -1), axis=1).data)
    return digest.hexdigest()[:16]


def _advice_record(advice: Advice) -> dict[str, Any]:
    return advice._asdict() | {"evidence": None if advice.evidence is None else advice.evidence.to_json()}


def card_record(card: Card, *, figures: bool = True) -> dict[str, Any]:
    """A card as strict JSON."""
    return {
        "instrument": card.name,
        "verdict": card.verdict,
        "question": card.question,
        "formula": card.formula,
        "assumes": list(card.assumes),
        "sources": list(card.sources),
        "entries": list(card.entries),
        "skipped": card.skipped,
        "left_out": list(card.left_out),
        "sizes": dict(card.sizes),
        "meaning": None if card.meaning is None else card.meaning._asdict(),
        "numbers": _strict(card.numbers),
        "finding": card.finding.to_json(figures=figures),
    }


def card_from(record: dict[str, Any]) -> Card:
    """The card of a record; one of `_records.UNREADABLE` where it is not one."""
    finding = Finding.from_json(record["finding"])
    card = Card(
        replace(finding, asked=record["finding"]["command"]),
        record["question"],
        record["formula"],
        tuple(record["assumes"]),
        tuple(record["sources"]),
        tuple(record["entries"]),
        record["numbers"],
        None if record["meaning"] is None else fitting(Meaning(**record["meaning"])),
        record["skipped"],
        tuple(record["left_out"]),
        record["sizes"],
    )
    return fitting(card)


def _strict(value: Any) -> Any:
    """JSON without non-finite numbers, which become the words JavaScript prints for them."""
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value if value is None else json_number(value)
