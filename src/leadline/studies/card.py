"""The card of one instrument: what it found, what theory said, and what that means; running and keeping it."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from leadline.evidence import Comparison, Finding, Inapplicable
from leadline.evidence.comparison import Verdict

from .instrument_contract import Instrument, Meaning, plain_numbers
from .program_versions import program_versions
from .subject import Subject

UNCONFIRMED = "not confirmed"
EXHAUSTED = "RESOURCE_EXHAUSTED"  # how XLA's error of too little memory begins
WORTH_TELLING = 0.3  # the least weight of a meaning that is more than "as it should be"


@dataclass(frozen=True)
class Card:
    """One instrument's answer about one subject: a finding, the numbers behind it, and its meaning.

    `skipped` is the reason why the instrument does not apply; a failure is in `finding.error`. `sizes` are the numbers
    of rows, products and steps that the budget allowed, `left_out` says in words where these are fewer than wanted.
    """

    finding: Finding
    question: str
    formula: str
    assumes: tuple[str, ...]
    sources: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)
    meaning: Meaning | None = None
    skipped: str = ""
    left_out: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.finding.id

    @property
    def verdict(self) -> str:
        """holds, fails, vacuous, inapplicable, skipped or error."""
        if self.skipped:
            return "skipped"
        if self.finding.error:
            return "error"
        counts = self.counts()
        return next((str(v) for v in (Verdict.FAILS, Verdict.VACUOUS, Verdict.HOLDS) if counts[v]), "inapplicable")

    def counts(self) -> dict[str, int]:
        """How many comparisons came out how; a finding that fails is not confirmed, and no failure of theory."""
        words = [
            UNCONFIRMED if c.empirical and c.verdict is Verdict.FAILS else c.verdict for c in self.finding.comparisons
        ]
        return {str(word): words.count(word) for word in (*Verdict, UNCONFIRMED)}

    @property
    def told(self) -> Meaning:
        """What came out; ValueError where the instrument did not apply or failed."""
        if self.meaning is None:
            raise ValueError(f"The card {self.name} has no result: {self.skipped or self.finding.error}.")
        return self.meaning

    @property
    def matters(self) -> bool:
        """Whether what it found is more than that all is as it should be: it has weight, or theory fails."""
        if self.meaning is None:
            return False
        return self.counts()[Verdict.FAILS] > 0 or self.meaning.weight >= WORTH_TELLING

    @property
    def tells(self) -> bool:
        """Whether there is more to tell than one line: what matters, advice, or a finding that is not confirmed."""
        return self.matters or (self.meaning is not None and bool(self.meaning.advice or self.counts()[UNCONFIRMED]))

    @property
    def evidence(self) -> Comparison | None:
        """The comparison that the advice rests on; None where it rests on the sentence itself."""
        named = self.meaning.rests_on if self.meaning else ""
        return next((c for c in self.finding.comparisons if named and c.what.startswith(named)), None)

    def __getitem__(self, name: str) -> Any:
        return self.numbers[name]

    def _repr_html_(self) -> str:
        from .pages.report_page import card_fragment

        return card_fragment(self)


def card_of(
    instrument: Instrument, subject: Subject, *, seed: int = 0, command: str = "", raising: bool = True
) -> Card:
    """Run one instrument on a subject; where `raising` is off, what it raises becomes the error of its card."""
    blank = Finding(instrument.name, {}, seed, versions=program_versions(), asked=command)
    card = Card(
        blank, instrument.question, instrument.formula, instrument.assumes, instrument.sources, instrument.entries
    )
    start = time.perf_counter()
    subject.budget.begin()
    try:
        refusal = instrument.refusal(subject)
        if refusal:
            return replace(card, skipped=refusal)
        found = instrument.measure(subject, subject.key(instrument.name))
        comparisons = tuple(instrument.compare(found, subject))
        figures = tuple(instrument.draw(found, subject))
        meaning = instrument.interpret(found, subject)
    except Inapplicable as unmet:
        return replace(card, skipped=str(unmet))
    except Exception as error:  # whatever goes wrong in one instrument, the others go on
        if raising:
            raise
        seconds = round(time.perf_counter() - start, 3)
        return replace(card, finding=replace(blank, error=_told(error), seconds=seconds))
    seconds = round(time.perf_counter() - start, 3)
    finding = replace(blank, comparisons=comparisons, figures=figures, seconds=seconds)
    left_out, sizes = subject.budget.left_out, subject.budget.sizes
    return replace(card, finding=finding, numbers=plain_numbers(found), meaning=meaning, left_out=left_out, sizes=sizes)


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    if isinstance(error, MemoryError) or (lines and EXHAUSTED in lines[0]):
        return "MemoryError: it needs more memory than there is; give fewer rows (--rows) or a smaller --memory"
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
