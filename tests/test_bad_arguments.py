"""Public functions say what is wrong with a bad argument: a NaN, no rows, another shape, no or negative counts.

tests/bad_arguments.txt lists those that do not yet; it may only become shorter: a line that is no longer true fails.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KNOWN = set((HERE / "bad_arguments.txt").read_text(encoding="utf-8").splitlines())
QUICK = ("probability",)
SLOW = ("learning", "kernels", "optimisation", "curvature", "robustness", "tangent", "networks")


def found_in(package: str) -> set[str]:
    """What is wrong in a package, each line once; libraries in C may print lines of their own."""
    command = [sys.executable, str(HERE / "bad_arguments.py"), package]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(re.search(r"(\d+) calls", printed.stderr)[1]) >= 40, "hardly any call was tried"
    lines = (re.match(rf"({package}\.\w+: [\w -]+) \(", line) for line in printed.stdout.splitlines())
    return {line[1] for line in lines if line}


@pytest.mark.parametrize("package", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_a_bad_argument_is_named_or_answered(package):
    known = {line for line in KNOWN if line.startswith(f"{package}.")}
    found = found_in(package)
    assert found - known == set(), "these do not say what is wrong"
    assert known - found == set(), "these do now: take them off the list"


def test_the_list_names_only_packages_that_are_looked_at():
    assert {line.split(".")[0] for line in KNOWN} <= {*QUICK, *SLOW}
