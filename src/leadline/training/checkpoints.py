"""Checkpoints by Orbax: written whole or not at all, the last few and the best kept, verified when they are read."""

import contextlib
import errno
import hashlib
import json
import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import PyTree

from .weights import first_difference, named_arrays, shapes, with_arrays

Tree = TypeVar("Tree", bound=PyTree)

CHECKPOINTS = "checkpoints"  # the directory of them in that of a run


class StorageFull(OSError):
    """There was no room for a checkpoint or a line of metrics; what was written before is whole."""


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C is heard only at the end of what is done within.

    Orbax reads and writes in threads of its own. An interrupt between would leave them at work on files that are
    written again or cleared away, with tracebacks of theirs, or on the memory of a process that is ending.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(came[0], None)


class Checkpoints:
    """The checkpoints of one run in a directory, numbered by epochs.

    >>> import tempfile
    >>> with Checkpoints(tempfile.mkdtemp(), keep=2) as checkpoints:
    ...     for epoch in (1, 2, 3, 4):
    ...         checkpoints.save(epoch, {"w": np.full(2, epoch)}, score=abs(epoch - 1), settings={})
    ...     restored = checkpoints.latest({"w": np.zeros(2, int)}, {})
    ...     checkpoints.epochs(), restored[0], restored[1]["w"].tolist()
    ([1, 3, 4], 4, [4, 4])
    """

    def __init__(self, directory: str | Path, keep: int = 3):
        import orbax.checkpoint as ocp
        from orbax.checkpoint import checkpoint_managers

        if keep < 1:
            raise ValueError(f"Checkpoints got keep={keep}; at least 1 must be kept.")
        logging.getLogger("absl").setLevel(logging.ERROR)
        self.directory = Path(directory).absolute()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._ocp = ocp
        self._keep = checkpoint_managers.AnyPreservationPolicy(
            [
                checkpoint_managers.LatestN(keep),
                checkpoint_managers.BestN(get_metric_fn=lambda metrics: -metrics["score"], n=1),
            ]
        )
        with undisturbed():
            self._manager = self._open()

    def _open(self) -> Any:
        options = self._ocp.CheckpointManagerOptions(
            preservation_policy=self._keep,
            best_fn=lambda metrics: metrics["score"],
            best_mode="min",
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,
        )
        return self._ocp.CheckpointManager(self.directory, options=options)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: Any) -> None:
        with undisturbed():
            self._manager.close()

    def epochs(self) -> list[int]:
        """The epochs of which there is a checkpoint."""
        return sorted(self._manager.all_steps())

    def path(self, epoch: int) -> Path:
        """Where the checkpoint of an epoch lies."""
        return self.directory / str(epoch)

    def save(self, epoch: int, state: PyTree, *, score: float, settings: Mapping[str, Any]) -> None:
        """Keep the state after an epoch; `score` decides which is the best (least), `settings` must match on return."""
        arrays = named_arrays(state)
        about = {"settings": dict(settings), "shapes": shapes(arrays), "digest": arrays_digest(arrays)}
        content = self._ocp.args.Composite(
            state=self._ocp.args.StandardSave(arrays), about=self._ocp.args.JsonSave(about)
        )
        try:
            with undisturbed():
                self._manager.save(epoch, args=content, metrics={"score": float(score)}, force=True)
                self._manager.wait_until_finished()
        except Exception as error:
            if not out_of_space(error):
                raise
            raise StorageFull(
                errno.ENOSPC,
                f"There is no room on the disk for the checkpoint of epoch {epoch} in {self.directory}; "
                "the earlier ones are whole: free some space and resume",
            ) from error

    def latest(self, template: Tree, settings: Mapping[str, Any]) -> tuple[int, Tree, list[str]] | None:
        """The newest whole checkpoint as (epoch, state, warnings about damaged newer ones), or None if there is none.

        A checkpoint of another model or of other settings raises ValueError: it is not damaged, it is not yours.
        """
        warnings: list[str] = []
        for epoch in reversed(self.epochs()):
            try:
                with undisturbed():
                    about, arrays = self._read(epoch)
            except Exception as error:  # whatever a damaged file makes Orbax raise
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
                warnings.append(f"The checkpoint of epoch {epoch} is damaged and was passed over ({reason[:120]}).")
                continue
            difference = first_difference(shapes(named_arrays(template)), about["shapes"])
            if difference:
                raise ValueError(f"The checkpoint {self.path(epoch)} is of another model: {difference}.")
            for name, value in json.loads(json.dumps(dict(settings))).items():
                if about["settings"].get(name) != value:
                    raise ValueError(
                        f"The checkpoint {self.path(epoch)} was made with {name} = {about['settings'].get(name)}, "
                        f"not {value}; resume with the settings of the first run or start in another directory."
                    )
            return epoch, with_arrays(template, arrays, str(self.path(epoch))), warnings
        if warnings:
            raise ValueError(f"No checkpoint in {self.directory} is whole. {' '.join(warnings)}")
        return None

    def forget_after(self, epoch: int) -> None:
        """Delete the checkpoints after an epoch: the damaged ones that a resumed run will write again."""
        with undisturbed():
            for later in [e for e in self.epochs() if e > epoch]:
                self._manager.delete(later)

    def _read(self, epoch: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        about = json.loads((self.path(epoch) / "about" / "metadata").read_text())
        template = {}
        for name, described in about["shapes"].items():
            dtype, _, shape = described.partition(" ")
            template[name] = np.empty(json.loads("[" + shape.strip("(,)") + "]"), dtype)
        read = self._manager.restore(
            epoch, args=self._ocp.args.Composite(state=self._ocp.args.StandardRestore(template))
        )
        arrays = {name: np.asarray(array) for name, array in read["state"].items()}
        if arrays_digest(arrays) != about["digest"]:
            raise ValueError("its content does not have the digest it was written with")
        return about, arrays


def out_of_space(error: BaseException) -> bool:
    """Whether an error, or what caused it, says that the disk is full, whichever library raised it."""
    words = ("No space left on device", "Disk quota exceeded", "RESOURCE_EXHAUSTED", "File too large")
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        if any(word in str(cause) for word in words):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def arrays_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A SHA-256 of named arrays, bit for bit."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
