"""The rivals' virtual environments, each made from its pinned requirement file the first time it is needed."""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIVALS = ROOT / "benchmarks" / "rivals"
ENVIRONMENTS = ROOT / ".benchmarks"


class NoEnvironment(Exception):
    """An environment cannot be made: the message says which and why."""


def interpreter(environment: str) -> Path:
    """The Python of an environment; "" is the one that runs this."""
    if not environment:
        return Path(sys.executable)
    wanted = (RIVALS / f"{environment}.txt").read_text()
    place = ENVIRONMENTS / environment
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = place / "requirements.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"Making {place.relative_to(ROOT)} from its requirement file; this happens once.", file=sys.stderr)
    venv.create(place, with_pip=True, clear=True)
    # Without their dependencies: the file has all that is needed, and some ask for what does not work here.
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*pip, "--requirement", RIVALS / f"{environment}.txt"], stdout=sys.stderr)
    if done.returncode:
        raise NoEnvironment(f"{place.relative_to(ROOT)} could not be made; pip's message is above.")
    stamp.write_text(wanted)
    return python


def packages(environment: str) -> dict[str, str]:
    """What the requirement file of an environment pins."""
    lines = (RIVALS / f"{environment}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
