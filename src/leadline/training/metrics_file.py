"""Metrics as JSON Lines: one line for each epoch, on the disk before the next begins."""

import errno
import json
import os
from pathlib import Path

import numpy as np

from leadline._files import is_regular, write_whole
from leadline._messages import BadInput, brief
from leadline._records import UNREADABLE

from .checkpoints import StorageFull, out_of_space

METRICS = "metrics.jsonl"


def columns_of(records: list[dict[str, float]]) -> dict[str, np.ndarray]:
    """Records as columns, NaN where one lacks a name.

    >>> columns_of([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0}])["loss"].tolist()
    [2.0, 1.0]
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: np.array([record.get(name, np.nan) for record in records]) for name in names}


class MetricsFile:
    """A file of records, each with its epoch, counted from 1."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, record: dict[str, float]) -> None:
        """Add a line and wait until it is on the disk."""
        is_regular(self.path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if not out_of_space(error):
                raise
            raise StorageFull(
                errno.ENOSPC,
                f"There is no room on the disk for the metrics of epoch {record['epoch']} in {self.path}; "
                "the checkpoints before are whole: free some space and resume",
            ) from error

    def read(self) -> list[dict[str, float]]:
        """The whole records, in order, up to the first line that is not one (the last, if a write was cut off)."""
        records: list[dict[str, float]] = []
        if is_regular(self.path):
            for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    records.append(_record(line, len(records) + 1))
                except UNREADABLE:
                    break
        return records

    def cut(self, epochs: int, *, write: bool = True) -> list[dict[str, float]]:
        """Keep the records of the first `epochs` epochs alone, in the file too (if this process writes it), and return
        them."""
        records = self.read()[:epochs]
        if len(records) < epochs:
            raise BadInput(
                f"{self.path} has {len(records)} whole records, but the checkpoint is of epoch {epochs}; "
                "restore the file or start in another directory."
            )
        if write:
            write_whole(self.path, "".join(json.dumps(record) + "\n" for record in records).encode())
        return records


def _record(line: str, epoch: int) -> dict[str, float]:
    """The numbers of an epoch by name; ValueError where the line does not hold them."""
    record = json.loads(line)
    if not isinstance(record, dict) or record.get("epoch") != epoch or not all(map(_is_number, record.values())):
        raise ValueError(f"This is no record of epoch {epoch}: {brief(line)}")
    return record


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
