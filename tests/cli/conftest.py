"""Running the command line inside the test process."""

import sys
from typing import NamedTuple

import pytest

from leadline.cli import show
from leadline.cli.app import run


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
