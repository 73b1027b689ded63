"""The directory of a study: cards appended to one file as they finish, readable after any interruption."""

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

from leadline._files import is_regular
from leadline._records import UNREADABLE, append_line, fitting, read_lines
from leadline.evidence import RunDirectory

from .budget import PassCosts
from .card import Card
from .program_versions import program_versions
from .report import card_from, card_record
from .subject import Subject

CARDS = "cards.jsonl"
BUDGET = "budget.jsonl"


class StudyDirectory:
    """A directory with `cards.jsonl`: one card a line, each with the fingerprint of the subject it is about."""

    def __init__(self, path: Path):
        self.path = path

    @contextlib.contextmanager
    def open(self) -> Iterator["StudyDirectory"]:
        """Create the directory and hold it, so that no second study writes to it meanwhile."""
        with RunDirectory(self.path).open():
            is_regular(self.path / CARDS)
            is_regular(self.path / BUDGET)
            yield self

    def done(self, subject: Subject) -> dict[str, Card]:
        """The cards of this very subject that are there already and did not fail."""
        mark = fingerprint(subject)
        records, _ = read_lines(self.path / CARDS, json.loads)
        cards = {}
        for record in records:
            with contextlib.suppress(*UNREADABLE):
                if record["fingerprint"] == mark and not record["card"]["finding"]["error"]:
                    card = card_from(record["card"])
                    cards[card.name] = card
        return cards

    def keep(self, card: Card, subject: Subject) -> None:
        """Add a card; it is on the disk when this returns."""
        record = {"fingerprint": fingerprint(subject), "card": card_record(card)}
        append_line(self.path / CARDS, json.dumps(record, ensure_ascii=False, allow_nan=False))

    def keep_budget(self, subject: Subject) -> None:
        """Give the subject the costs and the memory that its study began with, or keep those it begins with now.

        All sizes follow from them, so a study that goes on chooses as it did, whatever else the machine does meanwhile.
        """
        mark, budget = fingerprint(subject), subject.budget
        records, _ = read_lines(self.path / BUDGET, json.loads)
        for record in records:
            with contextlib.suppress(*UNREADABLE):
                if record["fingerprint"] == mark:
                    budget.restore(fitting(PassCosts(**record["costs"])), int(record["memory"]))
                    return
        record = {"fingerprint": mark, "costs": budget.costs._asdict(), "memory": budget.memory}
        append_line(self.path / BUDGET, json.dumps(record, allow_nan=False))

    def clear(self) -> None:
        """Forget the cards."""
        for name in (CARDS, BUDGET):
            if is_regular(self.path / name):
                (self.path / name).unlink()


def fingerprint(subject: Subject) -> str:
    """A digest of all that a card depends on: parameters, data, loss, past, settings, budget and the program itself."""
    whole = f"{_fingerprint(subject)} {subject.budget.minutes!r} {subject.budget.asked_memory!r}"
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=2)
def _fingerprint(subject: Subject) -> str:
    digest = hashlib.sha256()
    past = subject.past
    tests = subject.test or ()
    for part in (*jax.tree.leaves((subject.params, past.start)), *subject.train, *tests):
        array = np.ascontiguousarray(part)
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(array.data if array.size else b"")
    rest = (
        subject.name,
        subject.loss,
        subject.taken,
        past._replace(start=None, losses=None),
        subject.rows,
        subject.seed,
        program_versions(),
    )
    digest.update(repr(rest).encode())
    return digest.hexdigest()
