"""An instrument: a question about a subject, what it measures, what theory says of it, and what that means."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from leadline.evidence import Comparison, Figure

from .subject import Subject

KEPT = 4000  # numbers of one array that a report keeps
EVERY_KIND = ("classifier", "regressor", "sequence")  # of subjects


class Meaning(NamedTuple):
    """One sentence in plain words on what came out; `weight` from 0 to 1 is how much a busy person should care.

    `advice` is what to do about it, a sentence, or nothing. `change` from 0 to 1 is how much following it would change,
    as measured: the share of the rows, of the probability, of the steps or of the parameters that it is about; 0 where
    it only changes what is known. `rests_on` is how the `what` of the comparison begins that it rests on; empty where
    the sentence itself is the evidence. A weight below 0.3 says that all is as it should be.
    """

    sentence: str
    weight: float = 0.3
    advice: str = ""
    change: float = 0.0
    rests_on: str = ""


class NotApplicable(NamedTuple):
    """A part of an instrument that does not apply to this subject, and why."""

    what: str
    why: str

    def comparison(self) -> Comparison:
        """The same as an inapplicable comparison: "needs that <why>"."""
        return Comparison(self.what, "met", False, True, -1.0, unmet=self.why)


@dataclass(frozen=True)
class Instrument:
    """Every instrument has this shape.

    refuses(subject) is empty, or the reason why the instrument does not apply at all. measure(subject, key) returns a
    NamedTuple or dataclass of numbers and arrays (None where a part does not apply). compare(found, subject) yields
    comparisons, draw(found, subject) figures, and interpret(found, subject) says what came out.
    """

    name: str
    question: str
    formula: str
    assumes: tuple[str, ...]
    measure: Callable[[Subject, Any], Any]
    compare: Callable[[Any, Subject], Iterator[Comparison]]
    draw: Callable[[Any, Subject], Iterator[Figure]]
    interpret: Callable[[Any, Subject], Meaning]
    refuses: Callable[[Subject], str] = lambda subject: ""
    sources: tuple[str, ...] = ()
    entries: tuple[str, ...] = field(default=())  #: ids of the curriculum that the comparisons rest on
    kinds: tuple[str, ...] = ("classifier", "regressor")  #: of subjects that it takes

    def refusal(self, subject: Subject) -> str:
        """Why this instrument does not apply: the subject is of another kind, or what `refuses` says; else empty."""
        own = "classifier" if subject.classifies else "regressor"
        kind = getattr(subject, "kind", own)
        if kind not in self.kinds:
            return f"it takes a {' or a '.join(self.kinds)}, and this is a {kind}"
        return self.refuses(subject)

    def __call__(self, subject: Subject, *, seed: int = 0) -> Any:
        """This instrument alone: its card."""
        from .card import card_of

        return card_of(self, subject, seed=seed)


def plainly(value: float) -> str:
    """A number for a sentence: two or three digits, no power of ten where it can be read without.

    >>> plainly(0.1234), plainly(163.7), plainly(3480.0), plainly(2.5e7)
    ('0.12', '164', '3480', '2.5e+07')
    """
    return f"{value:.0f}" if 10 <= abs(value) < 1e6 else f"{value:.2g}"


def plain_numbers(found: Any) -> dict[str, Any]:
    """What was measured as numbers, texts, lists and mappings that JSON can hold; large arrays are left out.

    >>> class Found(NamedTuple):
    ...     top: float
    ...     values: np.ndarray
    >>> plain_numbers(Found(np.float32(2.0), np.arange(3)))
    {'top': 2.0, 'values': [0, 1, 2]}
    """
    if hasattr(found, "_asdict"):
        named = found._asdict()
    elif dataclasses.is_dataclass(found):
        named = {f.name: getattr(found, f.name) for f in dataclasses.fields(found)}
    else:
        named = dict(found)
    plain = {name: _plain(value) for name, value in named.items()}
    return {name: value for name, value in plain.items() if value is not _LEFT_OUT}


_LEFT_OUT = object()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | np.floating | np.integer | np.bool_):
        return value.item() if isinstance(value, np.generic) else value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        array = np.asarray(value)
        return array.tolist() if array.size <= KEPT else _LEFT_OUT
    if hasattr(value, "_asdict") or dataclasses.is_dataclass(value):
        return plain_numbers(value)
    if isinstance(value, dict):
        return {str(k): v for k, v in ((k, _plain(v)) for k, v in value.items()) if v is not _LEFT_OUT}
    if isinstance(value, list | tuple):
        return [v for v in map(_plain, value) if v is not _LEFT_OUT]
    return _LEFT_OUT
