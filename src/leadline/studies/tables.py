"""Data of a study from files: .npz arrays, .csv and .parquet tables with a target column, Python objects."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leadline._files import reading
from leadline._messages import brief, unknown
from leadline.evidence import BadInput

TEST_SHARE = 0.2  # of the rows, where a file has no test part
_ADVICE = {
    ".npz": "write it with numpy.savez",
    ".csv": "write it as text in UTF-8, its first line the names of the columns",
    ".parquet": "write it with columns of numbers, and of numbers or texts to predict",
}
_NAMES = (("inputs", "targets"), ("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"))


class Parts(NamedTuple):
    """Training and test rows, each (inputs, targets); no test rows where there are none."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray] | None


def read_parts(path: Path, target: str | None = None, *, seed: int = 0) -> Parts:
    """The rows of a .npz, .csv or .parquet file; a fifth of them, drawn by `seed`, become test rows if it has none."""
    if path.suffix not in _ADVICE:
        raise BadInput(f"{path} is not a .npz, .csv or .parquet file; give one of these, or the name of a dataset.")
    try:
        with reading(path, path.suffix[1:].upper(), _ADVICE[path.suffix]):
            return _arrays(path, seed) if path.suffix == ".npz" else _table(path, target, seed)
    except FileNotFoundError as absent:
        raise BadInput(str(absent)) from None


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


def _arrays(path: Path, seed: int) -> Parts:
    with path.open("rb") as file:  # which NumPy would leave open where it is damaged
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise BadInput(f"{path} is a single array; write inputs and targets into one file with numpy.savez.")
        return _named_parts(dict(found), str(path), seed)


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
        f"{what} has the arrays {brief(', '.join(arrays)) or 'none'}; "
        "name them x_train, y_train, x_test, y_test, or x and y."
    )


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
    """The column that is to be predicted: numbers as they are, texts as the numbers of their sorted order."""
    if not _holds_text(_complete(column, name, path).type):
        values = _numbers(column, name, path)
        whole = column.to_numpy()
        return whole if whole.dtype.kind in "biu" else values
    return np.unique(np.array(column.to_pylist(), dtype=str), return_inverse=True)[1]


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
