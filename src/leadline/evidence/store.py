"""A run directory: findings appended to one file as they finish, readable after any interruption."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

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
        if not self.file.is_file():
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
        self.file.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the directory, which must hold nothing but findings."""
        self.clear()
        (self.path / _LOCK).unlink(missing_ok=True)
        self.path.rmdir()


def read_lines(file: Path, loads: Callable[[str], Any]) -> tuple[list[Any], int]:
    """Every line of a file that `loads` can read, in order, and how many it could not."""
    found, damaged = [], 0
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], 0
    for line in lines:
        if not line.strip():
            continue
        try:
            found.append(loads(line.decode()))
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged += 1
    return found, damaged


def append_line(file: Path, text: str) -> None:
    """Add a line and wait until it is on the disk; a write that fails (a full disk) leaves the file as it was."""
    line = text.encode() + b"\n"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # the line before was torn by a kill
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, size)
            raise BadInput(
                f"Cannot write to {file} ({error.strerror}); make room and run the same command to go on."
            ) from None
    finally:
        os.close(descriptor)


def _hold(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where a second run is not kept out
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadInput(f"Another run is writing to {path}; wait for it, or choose another directory.") from None
