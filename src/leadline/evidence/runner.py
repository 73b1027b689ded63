"""Running many entries in worker processes: in parallel, each with a time limit, none able to harm another."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, TimeoutError as TaskTimeout, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

from leadline.data.sources.cache import cache_directory

from . import worker
from .execution import versions
from .finding import Finding, task_key
from .parameters import resolve
from .registry import Entry

_POLL_SECONDS = 0.1
_SLOW_FACTOR = 10
IDLE_FACTOR = 30  # a worker that waits, for the processor or for anything else, has so many times its limit


class Limit(NamedTuple):
    """The seconds that a task may take, of the processor's time (None: any) and by the clock on the wall."""

    processor: float | None
    clock: float

    @classmethod
    def of_work(cls, seconds: float) -> "Limit":
        """So much of a processor, however long that takes on a busy machine; but not for ever."""
        return cls(seconds, IDLE_FACTOR * seconds)

    @property
    def passed(self) -> str:
        """What to say of a task that worked too long."""
        return f"stopped after {self.processor or self.clock:g} s of processor time, its limit"

    @property
    def waited(self) -> str:
        """What to say of a task that was not at an end when the clock said so."""
        return f"stopped after {self.clock:g} s, its time limit"


@dataclass(frozen=True)
class Task:
    """One entry to run at given parameters and seed."""

    entry: Entry
    parameters: dict[str, Any]
    seed: int

    @classmethod
    def of(cls, entry: Entry, given: Mapping[str, Any] = {}, seed: int = 0) -> "Task":
        """A task with every parameter checked and filled in."""
        return cls(entry, resolve(entry.parameters, given), seed)

    @property
    def key(self) -> tuple:
        return task_key(self.entry.id, self.parameters, self.seed)

    @property
    def versions(self) -> dict[str, str]:
        """What a finding of this task must have been made with to be taken for one made now."""
        return versions(self.entry.module)

    def limit(self, timeout: float) -> Limit:
        """What this task may take where an ordinary one may take `timeout` seconds of processor time."""
        return Limit.of_work(timeout * (_SLOW_FACTOR if self.entry.slow else 1))

    def failed(self, error: str, seconds: float = 0.0) -> Finding:
        return Finding(self.entry.id, self.parameters, self.seed, error=error, seconds=seconds, versions=self.versions)


class Workers(contextlib.AbstractContextManager):
    """A pool of worker processes, each restarted when it crashes or overruns its time."""

    def __init__(self, jobs: int = 1, *, memory: int | None = None):
        from pebble import ProcessPool

        self._jobs, self._stopped = jobs, False
        self._pool = ProcessPool(
            max_workers=jobs,
            context=multiprocessing.get_context("spawn"),
            initializer=worker.prepare,
            initargs=(max(1, cores() // jobs), memory or physical_memory() // jobs, str(cache_directory() / "xla")),
        )

    def start(self, modules: Sequence[str]) -> None:
        """Let the processes start now, and import these modules until there is a task."""
        with worker.without_interrupts():
            for _ in range(self._jobs):
                self._pool.schedule(worker.load, args=(modules,))

    def submit(self, task: Task, limit: Limit) -> Any:
        """A future of the task's finding in JSON; cancelling it ends the worker at once."""
        arguments = (task.entry.module, task.entry.id, task.parameters, task.seed)
        options = {"limit": limit.processor}
        with worker.without_interrupts():  # the first task starts the processes, and the threads that start others
            return self._pool.schedule(worker.perform, args=arguments, kwargs=options, timeout=limit.clock)

    def run(self, task: Task, seconds: float) -> Finding:
        """The task's finding, within so many seconds by the clock; a crash or a lack of memory is its error."""
        limit = Limit(None, seconds)
        try:
            future = self.submit(task, limit)
        except RuntimeError:
            if not self._stopped:
                raise
            return task.failed("cancelled")
        return collect(future, task, limit)

    def run_all(
        self, tasks: Iterable[Task], timeout: float, running: Callable[[list[Task]], None] = lambda _: None
    ) -> Iterator[Finding]:
        """Findings in the order in which they finish; `running` is told what is being worked on."""
        waiting = {self.submit(task, task.limit(timeout)): task for task in tasks}
        while waiting:
            done, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            running([task for future, task in waiting.items() if future.running()])
            for future in done:
                task = waiting.pop(future)
                yield collect(future, task, task.limit(timeout))

    def __exit__(self, *failure: Any) -> None:
        self._stopped = True
        self._pool.stop()
        self._pool.join()


def collect(future: Any, task: Task, limit: Limit) -> Finding:
    """The finding of a finished (or awaited) future, whatever became of it."""
    from pebble import ProcessExpired

    try:
        return Finding.loads(future.result())
    except TaskTimeout:
        return task.failed(f"{limit.waited}; raise it with --timeout", limit.clock)
    except MemoryError as error:
        return task.failed(f"ran out of memory ({error or 'a worker has its share of the machine'}); use fewer --jobs")
    except ProcessExpired as error:
        if error.exitcode == worker.OUT_OF_TIME and limit.processor is not None:
            return task.failed(f"{limit.passed}; raise it with --timeout", limit.processor)
        return task.failed(f"its worker process died (exit code {error.exitcode}), perhaps for lack of memory")
    except CancelledError:
        return task.failed("cancelled")
    except Exception as error:  # whatever an entry raises is that entry's error, and no other's
        if "RESOURCE_EXHAUSTED" in str(error):
            return task.failed("ran out of memory; use fewer --jobs")
        return task.failed(in_words(error))


def run_tasks(
    tasks: Iterable[Task], *, jobs: int = 1, timeout: float = 120.0, memory: int | None = None
) -> Iterator[Finding]:
    """Findings in the order in which they finish, by workers of their own."""
    with Workers(jobs, memory=memory) as workers:
        yield from workers.run_all(tasks, timeout)


def in_words(error: Exception) -> str:
    """One line on what an entry raised."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def physical_memory() -> int:
    """The bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30
