"""Instruments that cost nothing: one that holds, one with nothing to tell, one that fails theory, one that breaks."""

from typing import NamedTuple

import numpy as np

from leadline.evidence import at_most, close
from leadline.presentation import figure
from leadline.studies import Instrument, Meaning, NotApplicable


class Found(NamedTuple):
    rows: int
    mean: float
    values: np.ndarray
    parts: tuple[NotApplicable, ...]


def measure(subject, key):
    part = NotApplicable("the drift", "the first parameters are known")
    return Found(subject.train.count, float(subject.train.inputs.mean()), np.arange(5.0), (part,))


def broken(subject, key):
    raise FloatingPointError("the sum is not finite")


def compare(found, subject):
    yield at_most(found.rows, 1000, "rows, most rows")
    yield close(found.mean, found.mean, "mean by two routes", atol=1e-12)
    for part in found.parts:
        yield part.comparison()


def compare_failing(found, subject):
    yield at_most(2.0, 1.0, "error, bound <b>of theory</b>")


def draw(found, subject):
    yield figure.curves(
        "Five numbers rise to 4",
        x="index",
        y="value",
        lines={"predicted": (np.arange(5.0), found.values)},
        points={"measured": (np.arange(5.0), found.values)},
    )


def interpret(found, subject):
    return Meaning(f"There are {found.rows} rows & their mean is {found.mean:.2f}.", 0.3)


def sample(name, **changed):
    parts = dict(
        question=f"What does {name} say?",
        formula=r"\lambda_1 \le 2/\eta",
        assumes=("the rows are independent",),
        measure=measure,
        compare=compare,
        draw=draw,
        interpret=interpret,
        entries=("novikoff-bound",),
        sources=("penn",),
    )
    return Instrument(name, **(parts | changed))


SAMPLES = {
    i.name: i
    for i in (
        sample("plain"),
        sample("calm", interpret=lambda f, s: Meaning("All is as it should be.", 0.1)),
        sample(
            "loud",
            compare=compare_failing,
            interpret=lambda f, s: Meaning("Theory fails here.", 0.9, "Look at it.", 0.5, "error, bound"),
        ),
        sample("broken", measure=broken),
        sample("idle", refuses=lambda subject: "the inputs are not images"),
    )
}
