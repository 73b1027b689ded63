"""Running the command line inside the test process."""

import contextlib
import sys
from typing import NamedTuple

import pytest

from leadline.cli import running, show
from leadline.cli.app import run
from leadline.evidence import falsifier
from leadline.evidence.execution import run_entry
from leadline.evidence.runner import in_words


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def leadline(monkeypatch, capsys, tmp_path):
    """Call the command line with some words; its caches and unfinished runs are the test's own."""
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(show.output, "width", 200)

    def call(*words) -> Result:
        monkeypatch.setattr(sys, "argv", ["leadline", *map(str, words)])
        with pytest.raises(SystemExit) as leave:
            run()
        captured = capsys.readouterr()
        return Result(leave.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def runs_here(monkeypatch):
    """Entries run in this process: for what does not depend on workers, each of which takes seconds to start."""

    def run_tasks(tasks, **options):
        for task in tasks:
            try:
                yield run_entry(task.entry, task.parameters, task.seed)
            except Exception as error:
                yield task.failed(in_words(error))

    monkeypatch.setattr(running, "run_tasks", run_tasks)
    monkeypatch.setattr(falsifier, "Workers", NoWorkers)


class NoWorkers(contextlib.nullcontext):
    """Stands where a search has its workers, and runs its tasks itself."""

    def __enter__(self):
        return self

    def run(self, task, seconds):
        return run_entry(task.entry, task.parameters, task.seed)
