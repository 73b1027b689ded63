"""What happens inside a worker process. Imports nothing heavy before the thread limits are set."""

import contextlib
import importlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from multiprocessing import resource_tracker
from typing import Any

_KEEP_PROGRAMS_FOR = 20  # entries
_ENTRIES_RUN = count(1)
_threads = 1  # of this worker

OUT_OF_TIME = -signal.SIGPROF if hasattr(signal, "SIGPROF") else None  # the exit code of a worker past its limit


def prepare(threads: int, memory: int, cache: str) -> None:
    """Set up a fresh worker: `threads` for every numerical library, `memory` bytes at most, a compilation cache."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)  # NPROC is the size of XLA's own pool
    if threads == 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    global _threads
    _threads = threads
    _limit_memory(memory)
    _die_with_parent()

    import jax

    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # most of an entry's programs are tiny
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back in this thread, and for good in processes and threads that it starts meanwhile.

    Ctrl-C in a terminal reaches every process, and one that is starting has not yet been told to ignore it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    resource_tracker.ensure_running()  # whose start, which the first process would cause, lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def load(modules: Sequence[str]) -> None:
    """Import what an entry will need, before it is known which."""
    for module in modules:
        importlib.import_module(module)


def perform(
    module: str,
    id: str,
    parameters: dict[str, Any],
    seed: int,
    observe: Callable[[Any], None] = lambda _: None,
    limit: float | None = None,
) -> str:
    """Run one entry of a module and return its finding as a line of JSON; `observe` sees what comes on the way.

    `limit` is in seconds of processor time for each thread that the worker may use; beyond it the process is killed.
    """
    limit_processor_time(limit)
    try:
        importlib.import_module(module)
        from .execution import run_entry
        from .registry import entry

        return run_entry(entry(id), parameters, seed, observe=observe).dumps()
    except Exception as error:
        raise _sendable(error) from None
    finally:
        limit_processor_time(None)
        _forget_programs()


def limit_processor_time(seconds: float | None) -> None:
    """Let the system end this process once it has used so much more; None takes the limit away.

    By the processor's clock, because on a busy machine an entry waits through no fault of its own.
    """
    if hasattr(signal, "setitimer"):  # not on Windows, where only the clock on the wall counts
        signal.setitimer(signal.ITIMER_PROF, 0 if seconds is None else seconds * _threads)


def _forget_programs() -> None:
    """Drop what was compiled, now and then: a few hundred entries would keep gigabytes of it."""
    if next(_ENTRIES_RUN) % _KEEP_PROGRAMS_FOR == 0:
        import jax

        jax.clear_caches()


def _sendable(error: Exception) -> Exception:
    """The error, or its words where it cannot be sent to another process (JAX's tracer errors cannot)."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _limit_memory(memory: int) -> None:
    """Beyond the limit an allocation fails in this process, instead of the kernel choosing a victim."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory if hard < 0 else min(memory, hard), hard))


def _die_with_parent() -> None:
    """A worker whose parent was killed has nobody to report to: it ends within a second."""
    import threading
    import time

    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
