"""A run directory: findings appended to one file as they finish, readable after any interruption."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from leadline._files import is_regular
from leadline._records import append_line, read_lines

from .finding import Finding
from .parameters import BadInput
from .runner import Task

FINDINGS = "findings.jsonl"
_LOCK = ".lock"


class RunDirectory:
    """A directory with `findings.jsonl`, one finding a line.

    A line is written in one call and flushed to the disk before the next claim is reported; a line torn by a
    kill or damaged otherwise is skipped when reading, and its claim simply runs again.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.damaged = 0

    @property
    def file(self) -> Path:
        return self.path / FINDINGS

    def existing(self) -> "RunDirectory":
        """This directory, which a user named to read from; BadInput if no run has left findings there."""
        if not is_regular(self.file):
            raise BadInput(f"There is no {FINDINGS} in {self.path}; give a directory of `leadline check --out`.")
        return self

    @contextlib.contextmanager
    def open(self) -> Iterator["RunDirectory"]:
        """Create the directory and hold it, so that no second run writes to it meanwhile."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise BadInput(f"Cannot write to {self.path} ({error.strerror}); choose another directory.") from None
        try:
            _hold(lock, self.path)
            is_regular(self.file)  # what is none of ours is refused before anything runs
            yield self
        finally:
            os.close(lock)

    def findings(self) -> list[Finding]:
        """Every readable finding, in the order written; `damaged` counts the lines that were not readable."""
        found, self.damaged = read_lines(self.file, Finding.loads)
        return found

    def done(self, tasks: Iterable[Task]) -> dict[tuple, Finding]:
        """What of these tasks is already found, without error and with what is installed now, by task key."""
        wanted = {task.key: task for task in tasks}
        latest = {f.key: f for f in self.findings() if not f.error and f.key in wanted}
        return {
            key: latest[key] for key, task in wanted.items() if key in latest and latest[key].versions == task.versions
        }

    def append(self, finding: Finding) -> None:
        """Add one finding; a write that fails (a full disk) leaves the file as it was."""
        append_line(self.file, finding.dumps())

    def clear(self) -> None:
        """Forget the findings."""
        if is_regular(self.file):
            self.file.unlink()

    def discard(self) -> None:
        """Remove the directory, which must hold nothing but findings."""
        self.clear()
        (self.path / _LOCK).unlink(missing_ok=True)
        self.path.rmdir()


def _hold(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where a second run is not kept out
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadInput(f"Another run is writing to {path}; wait for it, or choose another directory.") from None
