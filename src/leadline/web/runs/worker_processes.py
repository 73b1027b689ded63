"""Worker processes, each with a pipe of its own: nothing is shared, so that killing one harms no other.

A pool with one queue for all (Pebble's, which `leadline check` uses) holds that queue's lock for up to three seconds
while it stops a worker, and breaks when an idle worker dies.
"""

import asyncio
import contextlib
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

from leadline.data.sources.cache import cache_directory
from leadline.evidence.comparison import Comparison
from leadline.evidence.finding import Finding
from leadline.evidence.runner import cores, physical_memory
from leadline.evidence.worker import OUT_OF_TIME, without_interrupts

from . import inside_worker

_SPAWN = multiprocessing.get_context("spawn")
_MOST_MEMORY = 4 * 2**30
_PAUSE_AFTER_FAILED_START = 5.0
_GRACE = 1.0  # seconds: most entries end by themselves in less, and a new process takes longer to start
_READ = {"comparison": Comparison.from_json, "finding": Finding.loads}


class JobFailed(Exception):
    """A job raised an exception or its worker died, perhaps `out_of_time`: the message is one line on why."""

    def __init__(self, why: str, *, out_of_time: bool = False):
        super().__init__(why)
        self.out_of_time = out_of_time


class WorkerProcess:
    """One worker process; `ready` and `gone` are called in the loop when it can take a job and when it has ended."""

    def __init__(
        self, arguments: tuple, ready: Callable[["WorkerProcess"], None], gone: Callable[["WorkerProcess"], None]
    ):
        self._loop = asyncio.get_running_loop()
        self._ready, self._gone = ready, gone
        self._job: asyncio.Future | None = None
        self._observe: Callable[[Comparison], None] = lambda _: None
        self.was_ready = False
        self._killed = False
        self.ended = asyncio.Event()
        self.ended_at = 0.0  # on the loop's clock
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=inside_worker.serve, args=(theirs, *arguments), daemon=True)
        with without_interrupts():
            self._process.start()
        theirs.close()  # so that the end of the process is the end of what can be read
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self, kind: str, arguments: tuple, observe: Callable[[Comparison], None]) -> asyncio.Future:
        """Start a job; the future is of its result."""
        self._job, self._observe = self._loop.create_future(), observe
        with contextlib.suppress(OSError):  # a dead process is heard of through `_over`
            self._pipe.send((kind, arguments))
        return self._job

    def kill(self) -> None:
        self._killed = True
        self._process.kill()

    def end(self, job: asyncio.Future) -> None:
        """Kill the process if it is at this job still: it may have ended and be at another already."""
        if self._job is job:
            self.kill()

    def abandon(self, job: asyncio.Future) -> None:
        """Nobody wants this job any more: it may still end by itself, which spares a new process."""
        if self._job is job:
            self._observe = lambda _: None
            self._loop.call_later(_GRACE, self.end, job)

    @property
    def death(self) -> JobFailed:
        code = self._process.exitcode
        ended = code is not None and code == OUT_OF_TIME
        return JobFailed(f"its worker process died (exit code {code}), perhaps for lack of memory", out_of_time=ended)

    def _listen(self) -> None:
        """In a thread: hand what is heard to the loop until the process ends, then bury it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
            with contextlib.suppress(EOFError, OSError):
                while True:
                    kind, value = self._pipe.recv()
                    heard = _READ[kind](value) if kind in _READ else value
                    self._loop.call_soon_threadsafe(self._heard, kind, heard)
            self._process.join()
            self._loop.call_soon_threadsafe(self._over)

    def _heard(self, kind: str, value: Any) -> None:
        if self._killed:  # what it said before its end came too late, and it can take no other job
            return
        if kind == "ready":
            self.was_ready = True
            self._ready(self)
        elif kind == "comparison":
            self._observe(value)
        elif kind == "error":
            self._answer(lambda job: job.set_exception(JobFailed(value)))
            self._ready(self)
        else:
            self._answer(lambda job: job.set_result(value))
            self._ready(self)

    def _over(self) -> None:
        self.ended.set()
        self.ended_at = self._loop.time()
        self._pipe.close()
        self._answer(lambda job: job.set_exception(self.death))
        self._gone(self)

    def _answer(self, give: Callable[[asyncio.Future], None]) -> None:
        job, self._job, self._observe = self._job, None, lambda _: None
        if job is not None and not job.done():
            give(job)


class WorkerProcesses:
    """A number of worker processes that stays the same: one that dies is replaced."""

    def __init__(self, number: int, *, at_once: int, modules: tuple[str, ...], memory: int | None):
        self._number = number
        memory = memory or min(physical_memory() // number, _MOST_MEMORY)
        self._arguments = (modules, max(1, cores() // at_once), memory, str(cache_directory() / "xla"))
        self._processes: set[WorkerProcess] = set()
        # Last in, first out: who ran an entry a moment ago has its programs compiled.
        self._free: asyncio.LifoQueue[WorkerProcess] = asyncio.LifoQueue()
        self._takers = 0
        self._stopped = False

    def start(self) -> None:
        for _ in range(self._number):
            self._add()

    async def stop(self) -> None:
        self._stopped = True
        for process in (dying := list(self._processes)):
            process.kill()
        for process in dying:
            await process.ended.wait()

    async def available(self) -> None:
        """Wait until a job would begin at once."""
        self._free.put_nowait(await self._take())

    async def perform(
        self, kind: str, arguments: tuple, limit: float, observe: Callable[[Comparison], None] = lambda _: None
    ) -> Any:
        """The result of a job; JobFailed, or TimeoutError after `limit` seconds. Cancelling it ends its worker."""
        process = await self._take()
        job = process.begin(kind, arguments, observe)
        try:
            async with asyncio.timeout(limit):
                return await job
        except TimeoutError:
            process.end(job)
            raise
        except asyncio.CancelledError:
            process.abandon(job)
            raise

    async def _take(self) -> WorkerProcess:
        since = asyncio.get_running_loop().time()
        self._takers += 1
        try:
            while (process := await self._free.get()).ended.is_set():
                if not process.was_ready and process.ended_at >= since:
                    raise process.death
            return process
        finally:
            self._takers -= 1

    def _add(self) -> None:
        if not self._stopped:
            self._processes.add(WorkerProcess(self._arguments, self._free.put_nowait, self._replace))

    def _replace(self, process: WorkerProcess) -> None:
        self._processes.discard(process)
        pause = 0.0 if process.was_ready else _PAUSE_AFTER_FAILED_START
        asyncio.get_running_loop().call_later(pause, self._add)
        if not process.was_ready:  # whoever waits for a process hears why there is none
            for _ in range(self._takers):
                self._free.put_nowait(process)
