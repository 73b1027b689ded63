"""A Python object of a user's file as training and test rows: arrays, mappings of them, loaders, pairs of loaders."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from leadline._messages import brief
from leadline.evidence import BadInput

from .batches import NAMES, GivenRows, given_rows, is_stream, named_part

TEST_SHARE = 0.2  # of the rows, where there is no test part


class Parts(NamedTuple):
    """Training and test rows, each (inputs, targets) or (inputs, targets, mask); no test rows where there are none."""

    train: tuple[np.ndarray, ...]
    test: tuple[np.ndarray, ...] | None


def parts_of(
    found: Any, what: str, *, seed: int = 0, most: int = 1000, notice: Callable[[str], None] = lambda text: None
) -> Parts:
    """A Python object as rows: (train, test), each (inputs, targets) or a loader, or one such, or a mapping of arrays.

    Of a loader up to `most` rows are read, and `notice` is told how many.
    """

    def rows(given: Any, name: str) -> tuple[np.ndarray, ...]:
        read = given_rows(given, name, most)
        if read.source:
            notice(f"{what}: {read.source} are the {name} data.")
        return _without_none(read)

    if hasattr(found, "train_inputs") and hasattr(found, "test_labels"):
        return Parts((found.train_inputs, found.train_labels), (found.test_inputs, found.test_labels))
    if isinstance(found, Mapping):
        return named_parts(found, what, seed)
    if isinstance(found, tuple | list) and len(found) == 2 and all(_is_part(part) for part in found):
        return Parts(rows(found[0], "training"), rows(found[1], "test"))
    if is_stream(found) or (
        isinstance(found, tuple | list) and len(found) in (2, 3) and all(hasattr(part, "__len__") for part in found)
    ):
        return split(*rows(found, "training"), seed=seed)
    raise BadInput(
        f"{what} is not data: give (inputs, targets), ((inputs, targets), (test inputs, test targets)), a loader of "
        "batches, or a mapping."
    )


def _is_part(part: Any) -> bool:
    """Whether this holds inputs and targets, and not one of the two."""
    pair = isinstance(part, tuple | list) and len(part) in (2, 3) and all(hasattr(p, "__len__") for p in part)
    return pair or isinstance(part, Mapping) or (not isinstance(part, list) and is_stream(part))


def split(*arrays: np.ndarray, seed: int) -> Parts:
    """A random fifth of the rows for the test.

    >>> parts = split(np.arange(20.0).reshape(10, 2), np.arange(10), seed=0)
    >>> len(parts.train[1]), len(parts.test[1])
    (8, 2)
    """
    inputs, targets = arrays[:2]
    if len(inputs) != len(targets):
        raise BadInput(f"There are {len(inputs)} inputs and {len(targets)} targets; give as many of both.")
    order = np.random.default_rng(seed).permutation(len(inputs))
    tests, rest = np.split(order, [round(TEST_SHARE * len(order))])
    return Parts(tuple(a[rest] for a in arrays), tuple(a[tests] for a in arrays) if len(tests) else None)


def named_parts(arrays: Mapping[str, Any], what: str, seed: int) -> Parts:
    """Arrays by their names: x_train, y_train, x_test, y_test, or x and y, with masks where there are some."""
    for names in NAMES:
        for forms in (("{}_train", "{}_test"), ("train_{}", "test_{}")):
            train, test = (named_part(arrays, [form.format(name) for name in names]) for form in forms)
            if train is not None:
                tests = None if test is None else _without_none(given_rows(test, "test", 0))
                return Parts(_without_none(given_rows(train, "training", 0)), tests)
        whole = named_part(arrays, names)
        if whole is not None:
            return split(*_without_none(given_rows(whole, "training", 0)), seed=seed)
    raise BadInput(
        f"{what} has the arrays {brief(', '.join(map(str, arrays))) or 'none'}; "
        "name them x_train, y_train, x_test, y_test, or x and y."
    )


def _without_none(rows: GivenRows) -> tuple[np.ndarray, ...]:
    return tuple(part for part in rows[:3] if part is not None)
