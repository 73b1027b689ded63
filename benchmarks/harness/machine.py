"""What the machine is, and how fast it multiplies matrices and copies memory: the limits that nobody passes."""

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

_SIZE = 3000  # of the matrices
_COPIED = 2**28  # bytes, beyond every cache
_TRIES = 7


def limits() -> dict[str, float]:
    """Flops a second of matrix products in each precision and bytes a second of a copy, read and written: the best."""
    rates = {name: 2 * _SIZE**3 / _best(_product(name)) for name in ("float32", "float64")}
    source = np.ones(_COPIED // 8)
    target = np.empty_like(source)
    return {**rates, "bandwidth": 2 * _COPIED / _best(lambda: np.copyto(target, source))}


def facts() -> dict[str, str | int]:
    """Processor, cores, memory and versions, without a name of the machine."""
    names = ("jax", "jaxlib", "equinox", "optax", "diffrax", "numpy", "scipy", "leadline")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def _product(precision: str) -> Callable[[], np.ndarray]:
    a = np.random.default_rng(0).normal(size=(_SIZE, _SIZE)).astype(precision)
    return lambda: a @ a


def _best(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_TRIES):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
