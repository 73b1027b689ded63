"""A command in a process of its own; the answer is its exit code."""

import subprocess
import sys

from ..harness.case import Inputs


def python(inputs: Inputs, arguments: list[str]):
    return lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL).returncode
