"""Running the command line inside the test process."""

import sys
from typing import NamedTuple

import pytest

from leadline.cli import show
from leadline.cli.app import run
from leadline.evidence import falsifier, runner
from leadline.evidence.execution import run_entry
from leadline.evidence.runner import Workers, in_words


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
    monkeypatch.setattr(runner, "Workers", NoWorkers)
    monkeypatch.setattr(falsifier, "Workers", NoWorkers)


class NoWorkers(Workers):
    """Stands where a command has its workers, and runs the tasks itself."""

    def __init__(self, jobs):
        pass

    def __exit__(self, *failure):
        pass

    def start(self, modules):
        pass

    def run(self, task, timeout):
        return run_entry(task.entry, task.parameters, task.seed)

    def run_all(self, tasks, timeout, running):
        for task in tasks:
            try:
                yield self.run(task, timeout)
            except Exception as error:
                yield task.failed(in_words(error))
