"""One side's process: it makes the run, gives the answer of a first one, then times one run whenever it is asked.

Started as `python -m benchmarks.harness.contender` in the side's own environment. It reads one line of JSON that says
what to run, then a line for each run; it answers each with a line of JSON.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

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
    print(json.dumps({"ready": True}), file=replies)
    for _ in sys.stdin:
        print(json.dumps(_timed(run)), file=replies)


def _timed(run: Any) -> dict[str, float]:
    """Seconds of one run, and how far the memory rose above what this process held before; or the largest child's."""
    _forget_peak()
    before = _kilobytes("VmRSS")
    begin = time.perf_counter()
    result = np.asarray(run())
    seconds = time.perf_counter() - begin
    rise = _kilobytes("VmHWM") - before
    del result
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": seconds, "bytes": max(rise, children) * 1024}


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
