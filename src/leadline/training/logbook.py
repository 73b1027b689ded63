"""The logbook of a run: its metrics so far, and in a directory also the file of metrics and the checkpoints."""

import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from .checkpoints import CHECKPOINTS, Checkpoints, undisturbed
from .engine.epochs import State
from .metrics_file import METRICS, MetricsFile, columns_of
from .records_files import RECORDS, RecordsFiles, joined

SECONDS_BETWEEN_CHECKPOINTS = 5.0


class Logbook:
    """Keeps what a run has found; without a directory, in memory alone."""

    def __init__(self, directory: str | Path | None, keep: int, every: int | None, settings: Mapping[str, Any]):
        self.records: list[dict[str, float]] = []
        self.warnings: tuple[str, ...] = ()
        several = jax.process_count() > 1  # then all must save at the same epochs, and one of them writes
        self.every, self.settings = every or (1 if several else None), settings
        self.writes = jax.process_index() == 0
        self.metrics: MetricsFile | None = None
        self.checkpoints: Checkpoints | None = None
        self.recorded: list[PyTree] = []
        self._pending: State | None = None
        self._saved_at = time.monotonic()
        if directory is not None:
            place = Path(directory)
            self.metrics = MetricsFile(place / METRICS)
            self.records_files = RecordsFiles(place / RECORDS)
            self.used = _agreed(self.metrics.path.exists() or (place / CHECKPOINTS).exists())
            self.checkpoints = Checkpoints(place / CHECKPOINTS, keep)

    def __enter__(self) -> "Logbook":
        return self

    def __exit__(self, kind: type | None, *_: Any) -> None:
        """An interrupted run keeps its newest state."""
        if self.checkpoints is not None:
            with undisturbed():
                if kind is KeyboardInterrupt:
                    self.save()
                self.checkpoints.__exit__()

    def open(self, start: State, *, resume: bool, records: PyTree = None) -> State:
        """The state to go on from: `start`, or the newest whole checkpoint, with metrics and records cut to it.

        `records` is a template of what is recorded.
        """
        if self.checkpoints is None or self.metrics is None:
            return start
        if not resume:
            if self.used:
                raise FileExistsError(
                    f"{self.metrics.path.parent} already holds a run; resume it or choose another directory."
                )
            return start
        found = self.checkpoints.latest(start, self.settings)
        epoch, state, warnings = (0, start, []) if found is None else found
        self.checkpoints.forget_after(epoch)
        self.records, self.warnings = self.metrics.cut(epoch, write=self.writes), tuple(warnings)
        self.recorded = self.records_files.cut(epoch, records, write=self.writes)
        return state

    def record(self, recorded: PyTree, epoch: int) -> None:
        """Keep what was recorded in the epochs up to this one."""
        if not jax.tree.leaves(recorded):
            return
        self.recorded.append(recorded)
        if self.checkpoints is not None and self.writes:
            self.records_files.write(epoch, recorded)

    def add(self, record: dict[str, float]) -> None:
        """Write the metrics of one more epoch."""
        self.records.append(record)
        if self.metrics is not None and self.writes:
            self.metrics.append(record)

    def offer(self, state: State, *, last: bool) -> None:
        """A state at the end of an epoch: saved if it is time or the last, else kept in case of an interruption."""
        if self.checkpoints is None:
            return
        self._pending = state
        late = time.monotonic() - self._saved_at >= SECONDS_BETWEEN_CHECKPOINTS
        if last or (late if self.every is None else int(state.epoch) % self.every == 0):
            self.save()

    def save(self) -> None:
        """Make a checkpoint of the newest state unless there is one."""
        if self.checkpoints is None or self._pending is None:
            return
        epoch, state = int(self._pending.epoch), self._pending
        if epoch > max(self.checkpoints.epochs(), default=0):
            self.checkpoints.save(epoch, state, score=float(state.best_loss), settings=self.settings)
        self._pending, self._saved_at = None, time.monotonic()

    def newest(self, epoch: int) -> Path | None:
        """Where the newest checkpoint lies that is not after an epoch."""
        kept = [] if self.checkpoints is None else [e for e in self.checkpoints.epochs() if e <= epoch]
        return self.checkpoints.path(kept[-1]) if self.checkpoints is not None and kept else None

    def all_recorded(self) -> PyTree:
        """The records of all epochs, one after another."""
        return joined(self.recorded)

    def history(self) -> dict[str, np.ndarray]:
        """The metrics as columns, NaN where an epoch lacks one."""
        return columns_of(self.records)


def _agreed(seen: bool) -> bool:
    """What the first of several processes has seen, which no other may change before."""
    if jax.process_count() == 1:
        return seen
    from jax.experimental.multihost_utils import broadcast_one_to_all

    return bool(broadcast_one_to_all(np.asarray(seen)))


def checksum(data: PyTree) -> str:
    """The shapes of data and a checksum of their bytes: that a resumed run has the data of the first."""
    total, leaves = 0, [leaf for leaf in jax.tree.leaves(data) if hasattr(leaf, "shape")]
    for leaf in leaves:
        total = zlib.crc32(np.ascontiguousarray(leaf).view(np.uint8).reshape(-1).data, total)
    return f"{' '.join(str(leaf.shape) for leaf in leaves)} {total:08x}" if leaves else "none"
