"""What happens inside a worker process of the explorer. Imports nothing heavy before the thread limits are set."""

import importlib
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from leadline.evidence import worker

_NICENESS = 10  # the server and the browser go first


def serve(pipe: Connection, modules: tuple[str, ...], threads: int, memory: int, cache: str) -> None:
    """Get ready, then do one job after another; what comes out goes back through the pipe as (kind, value)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    worker.prepare(threads, memory, cache)
    _warm(modules)
    if hasattr(os, "nice"):  # not on Windows, and not before: a run may wait for this
        os.nice(_NICENESS)
    pipe.send(("ready", None))
    while True:
        try:
            kind, arguments = pipe.recv()
        except EOFError:  # the server is gone
            return
        pipe.send(_outcome(_JOBS[kind], pipe, arguments, memory))


def _warm(modules: tuple[str, ...]) -> None:
    """Import what jobs need and start JAX, so that the first job is as quick as the others."""
    import jax

    for module in modules:
        importlib.import_module(module)
    with jax.enable_x64(True):
        jax.random.key(0).block_until_ready()


def _outcome(job: Callable[..., tuple[str, str]], pipe: Connection, arguments: tuple, memory: int) -> tuple[str, str]:
    try:
        return job(pipe, *arguments)
    except Exception as error:  # whatever a job raises is that job's error, and no other's
        return "error", _in_words(error, memory)


def _check(
    pipe: Connection, module: str, id: str, parameters: dict[str, Any], seed: int, limit: float | None
) -> tuple[str, str]:
    from leadline.evidence import Comparison

    def observe(item: Any) -> None:
        if isinstance(item, Comparison):
            pipe.send(("comparison", item.to_json()))

    return "finding", worker.perform(module, id, parameters, seed, observe, limit)


def _example(pipe: Connection, name: str, limit: float | None) -> tuple[str, str]:
    from .example_worker import transcript

    worker.limit_processor_time(limit)
    try:
        return "transcript", transcript(name)
    finally:
        worker.limit_processor_time(None)


_JOBS = {"check": _check, "example": _example}


def _in_words(error: Exception, memory: int) -> str:
    from leadline.evidence.runner import in_words

    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        return f"ran out of memory; a run of the explorer has {memory / 2**30:.1f} GiB"
    return in_words(error)
