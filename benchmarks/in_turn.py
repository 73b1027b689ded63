"""Rivals timed in turn, each in a process of its own, so that no library's threads disturb another's."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

PAUSE = 0.5  # seconds in which the threads of the rival before come to rest

Build = Callable[[Any], Callable[[], Any]]


def serve(build: Build, problem: Any, line: Connection) -> None:
    """A rival's process: prepare, send the result of a first run, then time one run whenever asked."""
    run = build(problem)
    line.send(_plain(run()))
    while line.recv():
        begin = time.perf_counter()
        run()
        line.send(time.perf_counter() - begin)


def measure(rivals: Mapping[str, Build], problem: Any, repetitions: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of each rival, taken in turn so that a slow moment of the machine meets all; and their results."""
    context = multiprocessing.get_context("spawn")
    lines, seconds, results = {}, {name: [] for name in rivals}, {}
    for name, build in rivals.items():
        lines[name], far = context.Pipe()
        context.Process(target=serve, args=(build, problem, far), daemon=True).start()
        far.close()  # so that a rival that fails ends the run instead of being waited for
        results[name] = lines[name].recv()
        lines[name].send(True)  # prepared one after the other: the first timing is thrown away
        lines[name].recv()
    for _ in range(repetitions):
        for name, line in lines.items():
            time.sleep(PAUSE)
            line.send(True)
            seconds[name].append(line.recv())
    for line in lines.values():
        line.send(False)
    return {name: statistics.median(values) for name, values in seconds.items()}, results


def _plain(result: Any) -> Any:
    return result if isinstance(result, int | float | type(None)) else None
