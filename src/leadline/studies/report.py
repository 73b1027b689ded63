"""The report of a study: its cards as they come, kept in a directory, resumed, read back."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leadline._files import write_whole
from leadline._messages import unknown
from leadline._records import fitting
from leadline.evidence import BadInput, Finding
from leadline.evidence.comparison import json_number

from .card import Card, card_of
from .instrument import Meaning
from .instruments import instruments
from .program_versions import program_versions
from .subject import Subject

REPORT = "report.json"
PAGE = "report.html"
SIDE_BY_SIDE = "against.html"
FINDINGS = 3  # of the summary


@dataclass(frozen=True)
class Report:
    """What a study found. `report["curvature"]` are the numbers of one instrument, `report.cards` everything."""

    name: str
    about: dict[str, Any]
    cards: dict[str, Card] = field(default_factory=dict)
    command: str = ""

    def __getitem__(self, instrument: str) -> dict[str, Any]:
        if instrument not in self.cards:
            raise KeyError(unknown("instrument", instrument, self.cards))
        return self.cards[instrument].numbers

    def verdicts(self) -> dict[str, str]:
        """The verdict of every instrument."""
        return {name: card.verdict for name, card in self.cards.items()}

    def main_findings(self, count: int = FINDINGS) -> list[Card]:
        """The cards that matter most, by the weight of their meaning; failures of theory come first among equals."""
        told = [card for card in self.cards.values() if card.meaning is not None]
        return sorted(told, key=lambda c: (-c.meaning.weight, c.verdict != "fails"))[:count]

    def advice(self) -> list[tuple[str, str]]:
        """What to do, with the instrument that says so, the most important first."""
        told = [c for c in self.cards.values() if c.meaning is not None and c.meaning.advice]
        return [(c.name, c.meaning.advice) for c in sorted(told, key=lambda c: -c.meaning.weight)]

    def to_json(self, *, figures: bool = True) -> dict[str, Any]:
        """The report as strict JSON (docs/json.md says what is in it)."""
        return {
            "name": self.name,
            "command": self.command,
            "about": _strict(self.about),
            "summary": {
                "verdicts": self.verdicts(),
                "findings": [{"instrument": c.name, "sentence": c.meaning.sentence} for c in self.main_findings()],
                "advice": [{"instrument": name, "sentence": sentence} for name, sentence in self.advice()],
            },
            "cards": [card_record(card, figures=figures) for card in self.cards.values()],
        }

    def save(self, directory: Path | str) -> Path:
        """Write report.json and report.html; the page is returned."""
        from .report_page import report_html

        directory = Path(directory)
        text = json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1)
        write_whole(directory / REPORT, text.encode())
        write_whole(directory / PAGE, report_html(self).encode())
        return directory / PAGE

    def _repr_html_(self) -> str:
        from .report_page import report_fragment

        return report_fragment(self)

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
        "training_rows": subject.train.count,
        "test_rows": 0 if subject.test is None else subject.test.count,
        "input_shape": list(subject.input_shape),
        "outputs": subject.outputs,
        "task": f"{subject.outputs} classes" if subject.classifies else f"{subject.outputs} real targets",
        "loss": subject.loss,
        "optimiser": past.optimiser,
        "step": past.step,
        "batch": past.batch,
        "epochs": past.epochs,
        "start_known": past.start is not None,
        "rows_looked_at": subject.sample.count,
        "seed": subject.seed,
        "versions": program_versions(),
    }


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
    )
    return fitting(card)


def _strict(value: Any) -> Any:
    """JSON without non-finite numbers, which become the words JavaScript prints for them."""
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value if value is None else json_number(value)
