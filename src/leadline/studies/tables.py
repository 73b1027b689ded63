"""Data of a study from files: .npz arrays, .csv and .parquet tables with a target column, Python objects."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leadline._messages import unknown
from leadline.evidence import BadInput

TEST_SHARE = 0.2  # of the rows, where a file has no test part
_NAMES = (("inputs", "targets"), ("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"))


class Parts(NamedTuple):
    """Training and test rows, each (inputs, targets); no test rows where there are none."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray] | None


def read_parts(path: Path, target: str | None = None, *, seed: int = 0) -> Parts:
    """The rows of a .npz, .csv or .parquet file; a fifth of them, drawn by `seed`, become test rows if it has none."""
    readers = {".npz": _arrays, ".csv": _table, ".parquet": _table}
    if path.suffix not in readers:
        raise BadInput(f"{path} is not a .npz, .csv or .parquet file; give one of these, or the name of a dataset.")
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    return readers[path.suffix](path, target, seed)


def parts_of(found: Any, what: str, *, seed: int = 0) -> Parts:
    """A Python object as rows: (train, test), each (inputs, targets), or one such pair, or a mapping of arrays."""
    if hasattr(found, "train_inputs") and hasattr(found, "test_labels"):
        return Parts((found.train_inputs, found.train_labels), (found.test_inputs, found.test_labels))
    if isinstance(found, dict):
        return _named_parts(found, what, seed)
    if isinstance(found, tuple | list) and len(found) == 2:
        if all(isinstance(part, tuple | list) and len(part) == 2 for part in found):
            return Parts(*(tuple(map(np.asarray, part)) for part in found))
        if all(hasattr(part, "__len__") for part in found):
            return split(*map(np.asarray, found), seed=seed)
    raise BadInput(
        f"{what} is not data: give (inputs, targets), ((inputs, targets), (test inputs, test targets)), or a mapping."
    )


def split(inputs: np.ndarray, targets: np.ndarray, *, seed: int) -> Parts:
    """A random fifth of the rows for the test.

    >>> parts = split(np.arange(20.0).reshape(10, 2), np.arange(10), seed=0)
    >>> len(parts.train[1]), len(parts.test[1])
    (8, 2)
    """
    if len(inputs) != len(targets):
        raise BadInput(f"There are {len(inputs)} inputs and {len(targets)} targets; give as many of both.")
    order = np.random.default_rng(seed).permutation(len(inputs))
    tests, rest = np.split(order, [round(TEST_SHARE * len(order))])
    return Parts((inputs[rest], targets[rest]), (inputs[tests], targets[tests]) if len(tests) else None)


def _arrays(path: Path, target: str | None, seed: int) -> Parts:
    try:
        with np.load(path, allow_pickle=False) as file:
            return _named_parts({name: file[name] for name in file.files}, str(path), seed)
    except BadInput:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as .npz ({error}); write it anew with numpy.savez.") from None


def _named_parts(arrays: dict[str, Any], what: str, seed: int) -> Parts:
    for x, y in _NAMES:
        for forms in (("{}_train", "{}_test"), ("train_{}", "test_{}")):
            train, test = ([form.format(name) for name in (x, y)] for form in forms)
            if all(name in arrays for name in train):
                tests = tuple(np.asarray(arrays[n]) for n in test) if all(n in arrays for n in test) else None
                return Parts(tuple(np.asarray(arrays[name]) for name in train), tests)
        if x in arrays and y in arrays:
            return split(np.asarray(arrays[x]), np.asarray(arrays[y]), seed=seed)
    raise BadInput(
        f"{what} has the arrays {', '.join(arrays) or 'none'}; name them x_train, y_train, x_test, y_test, or x and y."
    )


def _table(path: Path, target: str | None, seed: int) -> Parts:
    from pyarrow import ArrowException, csv, parquet

    try:
        table = csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)
    except (ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise BadInput(f"{path} cannot be read as {path.suffix[1:]} ({reason}).") from None
    names = table.column_names
    if target is None:
        raise BadInput(f"{path} has the columns {', '.join(names)}; say with --target which one is to be predicted.")
    if target not in names:
        raise BadInput(unknown("column", target, names))
    columns = {name: _column(table, name, path) for name in names}
    labels = columns.pop(target)
    if not columns:
        raise BadInput(f"{path} has no column besides {target}; the network needs inputs.")
    for name, column in columns.items():
        if column.dtype.kind not in "biuf":
            raise BadInput(f"The column {name} of {path} holds texts; leave it out or turn it into numbers.")
    if labels.dtype.kind not in "biuf":
        labels = np.unique(labels, return_inverse=True)[1]
    return split(np.stack([column.astype(float) for column in columns.values()], axis=1), labels, seed=seed)


def _column(table: Any, name: str, path: Path) -> np.ndarray:
    column = table.column(name)
    if column.null_count:
        raise BadInput(f"The column {name} of {path} lacks {column.null_count} values; remove or fill such rows.")
    values = column.to_numpy()
    return values.astype(str) if values.dtype.kind == "O" else values
