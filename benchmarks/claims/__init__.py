"""The whole of `leadline check --all`: one job and two, a core for each; nothing compiled before, and all of it."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from leadline.data.sources.cache import cache_directory

from ..harness.environments import ROOT
from ..harness.outcome import Outcome, SideOutcome

_COMPILED = "xla"  # the folder of the cache that has compiled programs
_STATES = {"cold": "nothing compiled", "warm": "compiled before"}

REASONS = {
    "check --all, 1 job: compiled before": "",
    "check --all, 2 jobs: compiled before": "",
    "check --all, nothing compiled: 2 jobs": "",
    "check --all, compiled before: 2 jobs": "",
}


def measure(report: Callable[[str], None]) -> Iterator[Outcome]:
    """Each run is minutes long and made once; the ratios say what the compilation cache and a second job are worth."""
    seconds = {}
    for jobs in (1, 2):
        with _cache_without_programs() as cache, _cores(jobs):
            for state in _STATES:
                report(f"check --all, jobs {jobs}, {state} cache")
                seconds[jobs, state] = _checked(jobs, cache)
        yield _outcome(
            f"check --all, {_jobs(jobs)}: compiled before",
            seconds[jobs, "warm"],
            "nothing compiled",
            seconds[jobs, "cold"],
        )
    for state, words in _STATES.items():
        yield _outcome(f"check --all, {words}: 2 jobs", seconds[2, state], "1 job", seconds[1, state])


@contextlib.contextmanager
def _cores(number: int) -> Iterator[None]:
    """A core for each job, so that one job is not helped by the second core; Linux only."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:number])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number} jobs"


def _outcome(name: str, ours: float, other: str, theirs: float) -> Outcome:
    sides = [SideOutcome("Leadline", [ours]), SideOutcome(other, [theirs])]
    return Outcome(name, sides, best_rival=other, ratio=theirs / ours, with_itself=True)


@contextlib.contextmanager
def _cache_without_programs() -> Iterator[Path]:
    """A cache directory with the datasets of the real one and no compiled programs, for a while."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        if cache_directory().is_dir():
            for part in cache_directory().iterdir():
                if part.name != _COMPILED:
                    (Path(directory) / part.name).symlink_to(part)
        yield Path(directory)


def _checked(jobs: int, cache: Path) -> float:
    """Seconds of one whole check, whose findings go to a new directory."""
    with tempfile.TemporaryDirectory() as findings:
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "leadline", "check", "--all", "--jobs", str(jobs), "--out", findings],
            cwd=ROOT,
            env={**os.environ, "LEADLINE_CACHE": str(cache)},
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1):
        raise SystemExit(f"bench: leadline check --all ended with exit code {done.returncode}; run it to see why.")
    return seconds
