"""What a run records besides metrics, in files of arrays: one for each call of compiled code, by its last epoch."""

from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from .weights import load_weights, save_weights

RECORDS = "records"


class RecordsFiles:
    """Files 3.safetensors, 6.safetensors, ... of the records after so many epochs; an earlier run's may be taken up.

    >>> import tempfile
    >>> files = RecordsFiles(Path(tempfile.mkdtemp()))
    >>> files.write(3, {"w": np.ones(2)})
    >>> files.write(6, {"w": np.zeros(1)})
    >>> [part["w"].tolist() for part in files.cut(4, {"w": np.zeros(0)})]
    [[1.0, 1.0]]
    """

    def __init__(self, directory: Path):
        self.directory = directory

    def write(self, epoch: int, records: PyTree) -> None:
        """Keep the records since the last file."""
        self.directory.mkdir(parents=True, exist_ok=True)
        save_weights(self._file(epoch), records)

    def cut(self, epoch: int, template: PyTree, *, write: bool = True) -> list[PyTree]:
        """The records of the first epochs, part by part; what came after is deleted, if this process writes."""
        found = []
        for number in sorted(int(file.stem) for file in self.directory.glob("*.safetensors")):
            if number > epoch and write:
                self._file(number).unlink()
            elif number <= epoch:
                found.append(load_weights(self._file(number), template, rows=True))
        return found

    def _file(self, epoch: int) -> Path:
        return self.directory / f"{epoch}.safetensors"


def joined(parts: list[PyTree]) -> PyTree:
    """Parts one after another, on the host; None where there are none."""
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts) if parts else None
