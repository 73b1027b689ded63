"""The queue of runs behind the explorer: visitors in turn, a few at a time, all in one asyncio loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from leadline.claims import CHAPTERS
from leadline.evidence.comparison import Comparison
from leadline.evidence.falsifier import Falsification
from leadline.evidence.finding import Finding
from leadline.evidence.runner import Limit, Task

from .live_search import live_search
from .run import Run
from .run_events import Busy, Event, Known, Wanted
from .turns import Turns
from .worker_processes import JobFailed, WorkerProcesses

_REMEMBERED = 60.0  # seconds after the end
_CLAIMS = tuple(f"leadline.claims.{chapter}" for chapter in CHAPTERS)


class Runs:
    """The runs that wait, that are under way, and that ended less than a minute ago.

    At most `slots` are under way and `waiting` wait, `each` of them of one visitor. Visitors take turns, and where
    there are several slots the searches of one visitor, which are long, leave one free. A run has `timeout` seconds
    (ten times that where its entry is slow) and `memory` bytes. `known` remembers findings. A run that nobody follows
    for `patience` seconds is cancelled.

    Workers import `modules` before they are asked anything; there is one more of them than slots, so that a run that
    is cancelled does not make the next wait for a new process.
    """

    def __init__(
        self,
        *,
        known: Known,
        slots: int = 2,
        waiting: int = 256,
        each: int = 16,
        timeout: float = 120.0,
        memory: int | None = None,
        patience: float = 20.0,
        modules: tuple[str, ...] = _CLAIMS,
    ):
        self._known, self._slots, self._waiting, self._each = known, slots, waiting, each
        self._timeout, self._patience = timeout, patience
        self._workers = WorkerProcesses(slots + 1, at_once=slots, modules=modules, memory=memory)
        self._runs: dict[str, Run] = {}
        self._pages: dict[tuple[str, str], Run] = {}  # by visitor and page
        self._queue = Turns()
        self._under_way: dict[Run, asyncio.Task] = {}

    @property
    def running(self) -> int:
        return len(self._under_way)

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def start(self) -> None:
        """Start the worker processes; they get ready while the server answers already."""
        self._workers.start()

    async def stop(self) -> None:
        """Cancel every run and end the worker processes."""
        for run in list(self._runs.values()):
            self._end(run, "closed")
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        await self._workers.stop()

    def ask(self, wanted: Wanted, visitor: str = "") -> Run:
        """A new run of what a visitor wants; BadInput where that cannot be, Busy where too many wait already.

        It replaces the run that was asked for the same page before. A check that was made before is done at once.
        """
        task = wanted.task()
        run = Run(wanted, task, visitor)
        if run.page in self._pages:
            self._end(self._pages[run.page], "replaced")
        finding = self._known.find(task) if wanted.kind == "check" else None
        if finding is None and self._queue.of(visitor) >= self._each:
            raise Busy(f"{self._each} of your runs wait already; try again when some are done.")
        if finding is None and len(self._queue) >= self._waiting:
            raise Busy(f"{self._waiting} runs wait already; try again when some are done.")
        self._runs[run.token] = run
        if wanted.page:
            self._pages[run.page] = run
        if finding is not None:
            self._finish(run, Event("done", finding))
        else:
            self._queue.add(visitor, run)
            self._await_follower(run)
            self._advance()
        return run

    def find(self, token: str) -> Run | None:
        return self._runs.get(token)

    def cancel(self, run: Run) -> None:
        self._end(run, "cancelled")

    async def follow(self, run: Run) -> AsyncIterator[Event]:
        """What happens to a run, from its beginning to its end; of one that waits only its position, once."""
        run.followers += 1
        try:
            if run in self._queue:
                yield Event("queued", {"position": list(self._queue).index(run) + 1, "running": self.running})
            else:
                async with contextlib.aclosing(run.events()) as events:
                    async for event in events:
                        yield event
        finally:
            run.followers -= 1
            self._await_follower(run)

    def _await_follower(self, run: Run) -> None:
        """Cancel the run when its patience is over, unless somebody follows it then."""
        if run.end is None and not run.followers:
            run.left_at = asyncio.get_running_loop().time()
            asyncio.get_running_loop().call_later(self._patience, self._close_if_left, run, run.left_at)

    def _close_if_left(self, run: Run, left_at: float) -> None:
        if not run.followers and run.left_at == left_at:
            self._end(run, "closed")

    def _end(self, run: Run, reason: str) -> None:
        """End a run that is not over yet, before its result is there."""
        if run.end is None:
            self._finish(run, Event("ended", reason))
            if run in self._queue:
                self._queue.remove(run)
            else:
                self._under_way[run].cancel()

    def _finish(self, run: Run, end: Event) -> None:
        if run.end is None:
            run.finish(end)
            asyncio.get_running_loop().call_later(_REMEMBERED, self._forget, run)

    def _forget(self, run: Run) -> None:
        self._runs.pop(run.token, None)
        if self._pages.get(run.page) is run:
            del self._pages[run.page]

    def _advance(self) -> None:
        """Begin runs while there are free slots."""
        while len(self._under_way) < self._slots and (run := self._queue.next(self._may_begin)):
            run.begin()
            work = self._under_way[run] = asyncio.create_task(self._carry_out(run))
            # Not in a `finally`: a task that is cancelled before its first step never enters its body.
            work.add_done_callback(lambda _, run=run: self._leave(run))

    def _may_begin(self, run: Run) -> bool:
        """Whether this leaves a slot that the visitor's searches do not take."""
        searches = sum(r.visitor == run.visitor and r.wanted.kind == "falsify" for r in self._under_way)
        return run.wanted.kind != "falsify" or searches < max(1, self._slots - 1)

    def _leave(self, run: Run) -> None:
        self._finish(run, Event("ended", "failed"))  # unless it is over: a defect of the explorer ended it
        del self._under_way[run]
        self._advance()

    async def _carry_out(self, run: Run) -> None:
        result = await self._result(run)
        self._finish(run, Event("done", result))
        if run.wanted.kind == "check" and not result.error:
            self._known.keep(result)

    async def _result(self, run: Run) -> Finding | Falsification | str:
        wanted = run.wanted
        if wanted.kind == "check":
            return await self._finding(run.task, run.task.limit(self._timeout), run.saw)
        if wanted.kind == "falsify":
            await self._workers.available()  # a budget is for searching, not for waiting
            return await live_search(
                wanted.entry, self._sought, budget=wanted.budget, seed=wanted.seed, report=run.searched
            )
        limit = Limit.of_work(self._timeout)
        try:
            return await self._workers.perform("example", (wanted.object, limit.processor), limit.clock)
        except TimeoutError:
            return f"The example was {limit.waited}."
        except JobFailed as why:
            return f"The example was {limit.passed}." if why.out_of_time else f"The example did not end: {why}."

    async def _finding(
        self, task: Task, limit: Limit, observe: Callable[[Comparison], None] = lambda _: None
    ) -> Finding:
        """The task's finding; a crash, a time-out or a lack of memory is its error."""
        arguments = (task.entry.module, task.entry.id, task.parameters, task.seed, limit.processor)
        try:
            return await self._workers.perform("check", arguments, limit.clock, observe)
        except TimeoutError:
            return task.failed(limit.waited, limit.clock)
        except JobFailed as why:
            return task.failed(limit.passed if why.out_of_time else str(why))

    async def _sought(self, task: Task, seconds: float) -> Finding:
        """The finding of a task within what is left of a search."""
        return await self._finding(task, Limit(None, seconds))
