"""Contenders for the tests of the harness."""

import os
import subprocess
import sys
import time

import numpy as np


def sums(inputs, pause=0.0):
    def run():
        time.sleep(pause)
        return inputs["x"].cumsum()

    return run


def wrong(inputs, pause=0.0):
    return lambda: 1.01 * inputs["x"].cumsum()


def crashes(inputs, pause=0.0):
    raise ValueError("no such algorithm")


def dies_later(inputs, pause=0.0):
    runs = iter(range(4))

    def run():
        if next(runs) == 3:
            os._exit(7)
        return inputs["x"].cumsum()

    return run


def prints(inputs, pause=0.0):
    print("a library that greets its users")
    return lambda: (print("again"), inputs["x"].cumsum())[1]


def takes_memory(inputs, pause=0.0):
    return lambda: np.ones(inputs["x"].size * 2**20).sum(keepdims=True)


def quadratic(inputs, n):
    return lambda: time.sleep(0.002 * (n / 2) ** 2)


def nothing(inputs):
    return lambda: subprocess.run([sys.executable, "-c", "pass"]).returncode
