"""One run: what it was asked, what has happened to it, and how its followers hear of it."""

import asyncio
import secrets
from collections.abc import AsyncIterator

from leadline.evidence.comparison import Comparison
from leadline.evidence.falsifier import Falsification
from leadline.evidence.runner import Task

from .run_events import Event, Wanted

_TICK = 1.0  # seconds


class Run:
    """One thing that a visitor asked, known by its `token`; `end` is its last event, once that has happened."""

    def __init__(self, wanted: Wanted, task: Task, visitor: str = ""):
        self.token = secrets.token_urlsafe(16)
        self.wanted, self.task, self.visitor = wanted, task, visitor
        self.end: Event | None = None
        self.followers = 0
        self.left_at = 0.0  # when the last follower went, on the loop's clock
        self._begun = 0.0
        self._comparisons: list[Comparison] = []
        self._falsification: Falsification | None = None
        self._changed = asyncio.Event()

    @property
    def page(self) -> tuple[str, str]:
        """What shows the result: a page of this visitor, whatever others call theirs."""
        return self.visitor, self.wanted.page

    def begin(self) -> None:
        self._begun = asyncio.get_running_loop().time()

    def saw(self, comparison: Comparison) -> None:
        self._comparisons.append(comparison)
        self._tell()

    def searched(self, falsification: Falsification) -> None:
        self._falsification = falsification
        self._tell()

    def finish(self, end: Event) -> None:
        self.end = end
        self._tell()

    async def events(self) -> AsyncIterator[Event]:
        """All that has happened since the run began, then what happens until it ends."""
        clock = asyncio.get_running_loop().time
        told, falsification, tick = 0, None, self._begun
        while True:
            changed = self._changed  # taken before anything is looked at: nothing that happens later is missed
            if self._falsification is not falsification:
                falsification = self._falsification
                yield Event("falsification", falsification)
            while told < len(self._comparisons):
                told += 1
                yield Event("comparison", self._comparisons[told - 1])
            if self.end is not None:
                yield self.end
                return
            if clock() >= tick:
                tick = clock() + _TICK
                yield Event("running", round(clock() - self._begun, 1))
            try:
                async with asyncio.timeout(tick - clock()):
                    await changed.wait()
            except TimeoutError:
                continue

    def _tell(self) -> None:
        """Wake all followers; who looks from now on waits for the next change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
