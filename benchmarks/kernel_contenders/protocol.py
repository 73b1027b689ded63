"""How a contender talks to benchmarks/kernels.py: it prepares a case, then times one run for every line it reads."""

import itertools
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

WIDTHS = (784, 512, 512, 10)
POINTS, IMAGES, EXAMPLES = 5000, 200, 512


def points(count: int = POINTS) -> np.ndarray:
    """Inputs of norm √784 in single precision, the same for all contenders."""
    x = np.random.default_rng(0).normal(size=(count, 784)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True) * 28


def images(count: int = IMAGES) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, 28, 28, 1)).astype(np.float32)


def weights() -> list[tuple[np.ndarray, np.ndarray]]:
    """He's initialisation of the network 784-512-512-10, with biases."""
    rng = np.random.default_rng(2)
    return [
        ((rng.normal(size=(o, i)) * (2 / i) ** 0.5).astype(np.float32), np.zeros(o, np.float32))
        for i, o in itertools.pairwise(WIDTHS)
    ]


def serve(cases: dict[str, Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]]) -> None:
    """Each case gives a small run, after which the memory that is there anyway is read, and the run itself."""
    small, run = cases[sys.argv[1]]()
    np.asarray(small())
    before = _peak()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        result = np.asarray(run())
        seconds = time.perf_counter() - began
        some = np.ravel(result)[:: max(result.size // 1000, 1)][:1000].astype(float)
        answer = {"seconds": seconds, "bytes": _peak() - before, "digest": [float(some.mean()), float(some.std())]}
        del result  # the next one must not stand beside it
        print(json.dumps(answer), flush=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
