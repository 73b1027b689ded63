"""One side's process: it makes the run, gives the answer of a first one, then runs whenever it is asked.

Started as `python -m benchmarks.harness.contender` in the side's own environment. It reads one line of JSON that says
what to run, then one for each run, "time" or "memory"; it answers each with a line of JSON. Memory is measured in a run
of its own, before which all that is free is given back: to take it again costs time.
"""

import ctypes
import gc
import importlib
import json
import math
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ENOUGH = 0.3  # seconds: short runs are timed many in a row, as the first ones after a pause are slower
MEMORY_LIMIT = 20 * 2**30  # bytes, so that no contender takes the machine down

_STATUS = Path("/proc/self/status")


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print does not get among the replies
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    wanted = json.loads(sys.stdin.readline())
    with np.load(wanted["inputs"]) as stored:
        inputs = dict(stored)
    made = getattr(importlib.import_module(wanted["program"]), wanted["make"])(inputs, **wanted["settings"])
    run, answer = made if isinstance(made, tuple) else (made, np.asarray)
    np.save(wanted["answer"], answer(run()))
    run()  # programs that are compiled at the second call, and caches, are there from now on
    times = max(1, math.ceil(ENOUGH / max(_time(run, 1), 1e-6)))
    print(json.dumps({"ready": True}), file=replies)
    for line in sys.stdin:
        print(json.dumps(_time(run, times) if json.loads(line) == "time" else _memory(run)), file=replies)


def _time(run: Any, times: int) -> float:
    """Seconds of one run, the mean of so many in a row."""
    gc.collect()
    begin = time.perf_counter()
    for _ in range(times):
        np.asarray(run())
    return (time.perf_counter() - begin) / times


def _memory(run: Any) -> int:
    """How far the memory rises in a run above what this process held before, in bytes; or the largest child's."""
    _forget_peak()
    before = _kilobytes("VmRSS")
    np.asarray(run())
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(_kilobytes("VmHWM") - before, children) * 1024


def _forget_peak() -> None:
    """Give back what is free, and let the largest memory be that of now; Linux only."""
    gc.collect()
    if _STATUS.exists():
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def _kilobytes(field: str) -> int:
    """A line of this process' status; 0 where there is no such file."""
    if not _STATUS.exists():
        return 0
    return next(int(line.split()[1]) for line in _STATUS.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    main()
