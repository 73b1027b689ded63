"""Contenders for the tests of the harness, with a clock of their own: what they take is exact on any machine."""

import itertools
import os
import time

import numpy as np

_NOW = [0.0]


def _taking(seconds):
    """Let a run take so many seconds on this process' clock."""
    time.perf_counter = lambda: _NOW[0]
    _NOW[0] += seconds


def sums(inputs, takes=1.0):
    def run():
        _taking(takes)
        return inputs["x"].cumsum()

    return run


def slower_and_slower(inputs, takes):
    """Three runs at the start, the third of which takes `takes`, and one that is weighed; then each takes that more."""
    runs = itertools.count(-3)

    def run():
        number = next(runs)
        _taking(takes * (number + 3 if number > 0 else 1))
        return inputs["x"].cumsum()

    return run


def wrong(inputs):
    return lambda: 1.01 * inputs["x"].cumsum()


def crashes(inputs):
    raise ValueError("no such algorithm")


def dies_later(inputs):
    runs = iter(range(6))  # three at the start, one that is weighed, one that is timed

    def run():
        _taking(1.0)
        if next(runs) == 5:
            os._exit(7)
        return inputs["x"].cumsum()

    return run


def prints(inputs):
    print("a library that greets its users")
    return lambda: (print("again"), inputs["x"].cumsum())[1]


def backwards(inputs):
    return lambda: inputs["x"].cumsum()[::-1], lambda result: result[::-1]


def takes_memory(inputs):
    return lambda: np.ones(inputs["x"].size * 2**20).sum(keepdims=True)


def quadratic(inputs, n):
    return lambda: _taking(0.5 * n**2)
