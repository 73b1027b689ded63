"""Files that are there whole or not at all, whatever interrupts their writing."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_STALE_SECONDS = 3600


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes its place at `path` when the block ends; until then the old content stays there."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
