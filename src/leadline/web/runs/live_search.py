"""A search for a counterexample that runs in a thread, with the loop's worker processes, and can be stopped."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace

from leadline.evidence.falsifier import Falsification, Search
from leadline.evidence.finding import Finding
from leadline.evidence.registry import Entry
from leadline.evidence.runner import Task

_BETWEEN_REPORTS = 0.25  # seconds


async def live_search(
    entry: Entry,
    find: Callable[[Task, float], Awaitable[Finding]],
    *,
    budget: float,
    seed: int,
    report: Callable[[Falsification], None],
) -> Falsification:
    """Try to break an entry; `report` gets a copy of the falsification a few times a second and at each new worst case.

    `find(task, seconds)` gives findings, in the loop. Cancelling this ends the run under way and the thread.
    """
    loop = asyncio.get_running_loop()
    lent = _LentToThread(find, loop)
    search = Search(entry, lent.run, budget=budget, seed=seed, progress=_Reporter(report, loop).progress)
    thread = ThreadPoolExecutor(1)  # of its own: the loop's are for what is short
    try:
        await loop.run_in_executor(thread, search.work)
    except asyncio.CancelledError:
        search.stop()
        lent.stop()
        raise
    finally:
        thread.shutdown(wait=False)
    return search.falsification


class _LentToThread:
    """Findings of the loop's making, for a thread; none once it is stopped."""

    def __init__(self, find: Callable[[Task, float], Awaitable[Finding]], loop: asyncio.AbstractEventLoop):
        self._find, self._loop = find, loop
        self._lock = threading.Lock()
        self._stopped = False
        self._asked: Future | None = None

    def run(self, task: Task, seconds: float) -> Finding:
        with self._lock:  # nothing may be asked after `stop` has looked for what was asked
            if self._stopped:
                return task.failed("cancelled")
            asked = self._asked = asyncio.run_coroutine_threadsafe(self._find(task, seconds), self._loop)
        try:
            return asked.result()
        except CancelledError:
            return task.failed("cancelled")

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._asked is not None:
                self._asked.cancel()


class _Reporter:
    """Hands copies of an falsification to the loop, no more often than a page can use."""

    def __init__(self, report: Callable[[Falsification], None], loop: asyncio.AbstractEventLoop):
        self._report, self._loop = report, loop
        self._last, self._worst = 0.0, None

    def progress(self, falsification: Falsification) -> None:
        now = time.monotonic()
        if falsification.worst is self._worst and now - self._last < _BETWEEN_REPORTS:
            return
        self._last, self._worst = now, falsification.worst
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
            self._loop.call_soon_threadsafe(self._report, replace(falsification, errors=list(falsification.errors)))
