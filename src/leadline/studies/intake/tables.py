"""Data of a study from files: .npz arrays, .csv and .parquet tables with a target column."""

from pathlib import Path
from typing import Any

import numpy as np

from leadline._files import reading
from leadline._messages import brief, unknown
from leadline.evidence import BadInput

from .parts import Parts, named_parts, split

_ADVICE = {
    ".npz": "write it with numpy.savez",
    ".csv": "write it as text in UTF-8, its first line the names of the columns",
    ".parquet": "write it with columns of numbers, and of numbers or texts to predict",
}


def read_parts(path: Path, target: str | None = None, *, seed: int = 0) -> Parts:
    """The rows of a .npz, .csv or .parquet file; a fifth of them, drawn by `seed`, become test rows if it has none."""
    if path.suffix not in _ADVICE:
        raise BadInput(f"{path} is not a .npz, .csv or .parquet file; give one of these, or the name of a dataset.")
    try:
        with reading(path, path.suffix[1:].upper(), _ADVICE[path.suffix]):
            return _arrays(path, seed) if path.suffix == ".npz" else _table(path, target, seed)
    except FileNotFoundError as absent:
        raise BadInput(str(absent)) from None


def _arrays(path: Path, seed: int) -> Parts:
    with path.open("rb") as file:  # which NumPy would leave open where it is damaged
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise BadInput(f"{path} is a single array; write inputs and targets into one file with numpy.savez.")
        return named_parts(dict(found), str(path), seed)


def _table(path: Path, target: str | None, seed: int) -> Parts:
    from pyarrow import csv, parquet

    table = csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
    names = _column_names(table, path)
    if target is None:
        raise BadInput(
            f"{path} has the columns {brief(', '.join(names))}; say with --target which one is to be predicted."
        )
    if target not in names:
        raise BadInput(unknown("column", target, names))
    if len(names) == 1:
        raise BadInput(f"{path} has no column besides {target}; the network needs inputs.")
    columns = [_numbers(table.column(name), name, path) for name in names if name != target]
    return split(np.stack(columns, axis=1), _labels(table.column(target), target, path), seed=seed)


def _column_names(table: Any, path: Path) -> list[str]:
    names = list(table.column_names)
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise BadInput(f"Column {place} of {path} has no name; give it one, or leave the column out.")
        if names.index(name) + 1 < place:
            raise BadInput(f"{path} has the column {brief(name)} twice; give each column a name of its own.")
    return names


def _numbers(column: Any, name: str, path: Path) -> np.ndarray:
    """A column of inputs: numbers or truth values, all of them there."""
    from pyarrow import types

    kind = _complete(column, name, path).type
    if _holds_text(kind):
        raise BadInput(f"The column {brief(name)} of {path} holds texts; leave it out or turn it into numbers.")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise BadInput(f"The column {brief(name)} of {path} holds values of type {kind}; turn them into numbers.")
    return column.to_numpy().astype(float)


def _labels(column: Any, name: str, path: Path) -> np.ndarray:
    """The column that is to be predicted: numbers or texts."""
    if not _holds_text(_complete(column, name, path).type):
        values = _numbers(column, name, path)
        whole = column.to_numpy()
        return whole if whole.dtype.kind in "biu" else values
    return np.array(column.to_pylist(), dtype=str)


def _holds_text(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind)


def _complete(column: Any, name: str, path: Path) -> Any:
    if column.null_count:
        raise BadInput(
            f"The column {brief(name)} of {path} lacks {column.null_count} values; remove or fill such rows."
        )
    return column
