"""Contenders started, their answers compared, and timed in turn."""

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case, Growth, Inputs, Side
from .environments import ROOT, NoEnvironment, interpreter
from .outcome import GrowthOutcome, Outcome, SideOutcome, disagreement

PAUSE = 0.3  # seconds in which the threads of the contender before come to rest
TIME_LIMIT = 900.0  # seconds for one run, then a contender is out
FAR_BEHIND, FEW = 20.0, 3  # who takes so many times as long as Leadline is asked no more than so often


class Contender:
    """A side's process, which waits between its runs; one that fails is out of the race, and `failure` says why."""

    def __init__(self, side: Side, settings: Mapping[str, Any], inputs: Path, place: Path):
        self.side, self.failure = side, ""
        self.seconds: list[float] = []
        self.bytes = 0
        self._answer = place / f"answer-{id(self)}.npy"
        self._errors = (place / f"errors-{id(self)}.txt").open("w+")
        wanted = {
            "program": side.program,
            "make": side.make,
            "settings": {**settings, **side.settings},
            "inputs": str(inputs),
            "answer": str(self._answer),
        }
        self._process = subprocess.Popen(
            [interpreter(side.environment), "-m", "benchmarks.harness.contender"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=_surroundings(),
        )
        self._ask(wanted)

    @property
    def answer(self) -> np.ndarray | None:
        return None if self.failure else np.load(self._answer)

    def run(self) -> None:
        if self.failure:
            return
        time.sleep(PAUSE)
        seconds = self._ask("time")
        if seconds is not None:
            self.seconds.append(seconds)

    def weigh(self) -> None:
        """Measure the memory that a run takes."""
        if not self.failure:
            self.bytes = self._ask("memory") or 0

    def refuse(self, why: str) -> None:
        self.failure = why
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.stdout.close()
        self._errors.close()

    def _ask(self, question: Any) -> Any:
        """The reply to a line; None where there is none, which ends the contender."""
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(question), file=self._process.stdin, flush=True)
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            if not waiting.select(TIME_LIMIT):
                self._process.kill()
                self.failure = f"stopped after {TIME_LIMIT:.0f} s"
                return None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait(60)
        self._errors.seek(0)
        said = [part.strip() for part in self._errors.read().splitlines() if part.strip()]
        self.failure = said[-1][:200] if said else f"its process ended with {self._process.returncode}"
        return None


def race(case: Case, repetitions: int) -> Outcome:
    """All sides in turn, after their answers were found to agree; a side whose answer differs is not timed.

    Nobody is timed any more once Leadline's side is out: there is nothing to compare.
    """
    inputs = case.inputs()
    with _stored(inputs) as (path, place), contextlib.ExitStack() as open_:
        contenders = []
        for side in case.sides:  # one after the other: compilation uses all cores
            contenders.append(_started(side, case.settings, path, place))
            open_.callback(contenders[-1].close)
        right = inputs[case.expected] if case.expected else contenders[0].answer
        differences = [_judge(contender, right, case.tolerance) for contender in contenders]
        for contender in contenders:
            if not contenders[0].failure:
                contender.weigh()
        for round_ in range(repetitions):
            for contender in contenders if round_ % 2 == 0 else reversed(contenders):
                if not contenders[0].failure and not _far_behind(contender, contenders[0]):
                    contender.run()
        sides = [
            SideOutcome(c.side.name, c.seconds, c.bytes, d, c.failure)
            for c, d in zip(contenders, differences, strict=True)
        ]
    return Outcome.of(case, sides)


def grow(growth: Growth, repetitions: int) -> GrowthOutcome:
    """Leadline's side at all sizes in turn."""
    with contextlib.ExitStack() as open_:
        contenders = []
        for size in growth.sizes:
            path, place = open_.enter_context(_stored(growth.inputs(size)))
            contenders.append(_started(growth.side, {growth.variable: size}, path, place))
            open_.callback(contenders[-1].close)
        for _ in range(repetitions):
            for contender in contenders:
                contender.run()
        failure = next((c.failure for c in contenders if c.failure), "")
        return GrowthOutcome.of(growth, [c.seconds for c in contenders], failure)


@contextlib.contextmanager
def _stored(inputs: Inputs) -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        np.savez(place / "inputs.npz", **inputs)
        yield place / "inputs.npz", place


def _started(side: Side, settings: Mapping[str, Any], inputs: Path, place: Path) -> Contender:
    try:
        return Contender(side, settings, inputs, place)
    except NoEnvironment as why:
        raise SystemExit(f"bench: {why}") from None


def _judge(contender: Contender, right: np.ndarray | None, tolerance: float) -> float | None:
    """How far an answer is from the right one; a side that is further than the tolerance is refused."""
    answer = contender.answer
    if answer is None or right is None:
        return None
    difference = disagreement(answer, right)
    if not difference <= tolerance:
        contender.refuse(f"not timed: its answer differs by {difference:.1e}, {tolerance:.0e} is allowed")
    return difference


def _far_behind(contender: Contender, first: Contender) -> bool:
    if len(contender.seconds) < FEW or not first.seconds:
        return False
    return min(contender.seconds) > FAR_BEHIND * min(first.seconds)


def _surroundings() -> dict[str, str]:
    """Environment variables of a contender: all may keep compiled Python files, as those of installed packages are."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
