"""Files of users': read with one sentence for whatever is wrong with them, written whole or not at all."""

import contextlib
import errno
import os
import stat
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ._messages import BadInput, reason

_STALE_SECONDS = 3600
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnreadableFile(BadInput):
    """A file that cannot be read as what it should be; the message says in one sentence why, and what to do."""


@contextlib.contextmanager
def reading(path: Path | str, kind: str, advice: str) -> Iterator[None]:
    """Read a user's file inside: whatever a library raises on its content becomes one sentence, an UnreadableFile.

    A path at which there is nothing raises FileNotFoundError with such a sentence; a directory, a pipe (which would
    let the reader wait for ever) and a cycle of links are refused before they are opened.

    >>> with reading(__file__, "numbers", "give a list of numbers"):
    ...     float("abc")
    Traceback (most recent call last):
    leadline._files.UnreadableFile: ... cannot be read as numbers (could not convert string to float: 'abc'); give ...
    """
    if not is_regular(path):
        raise FileNotFoundError(f"There is no file {path}; {advice}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the answer or the sentence is all there is to say
            yield
    except BadInput:
        raise
    except Exception as error:  # a damaged file can make a library raise anything
        raise UnreadableFile(f"{path} cannot be read as {kind} ({reason(error)}); {advice}.") from error


def is_regular(path: Path | str) -> bool:
    """Whether there is a file at the path; UnreadableFile where there is something else: a directory, a pipe, a cycle.

    >>> is_regular(__file__), is_regular(__file__ + ".none")
    (True, False)
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        told = "is a cycle of links" if error.errno == errno.ELOOP else f"cannot be opened ({error.strerror})"
        raise UnreadableFile(f"{path} {told}; give a file, or remove it.") from None
    except ValueError as error:  # a null character
        raise UnreadableFile(f"{path!r} is no path ({error}); give that of a file.") from None
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise UnreadableFile(f"{path} is {what} where a file is expected; give a file, or move it away.")
    return True


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes its place at `path` when the block ends; until then the old content stays there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_regular(path)  # a directory, a pipe or a cycle of links is not replaced
    for left in path.parent.glob(f"{path.name}.*.part"):  # by a process that was killed
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            left.unlink(missing_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that its old content or the new one is there at any moment, even if the machine stops."""
    with whole_file(path) as file:
        file.write(content)
