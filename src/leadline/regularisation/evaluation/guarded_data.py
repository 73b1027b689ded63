"""Data in three parts of which the last can be read once: to fit on, to choose on, and to report."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, PRNGKeyArray, Shaped

from leadline._checks import require_rows
from leadline.learning.splits import SealedPart, Split, grouped_split, random_split, stratified_split, temporal_split

Column = Shaped[Array | np.ndarray, " _"]
Arrays = tuple[Any, ...]


class GuardedData:
    """Arrays in three parts: `train` and `validation` are free, the test part is read once, by `read`.

    `readings` counts what was granted (0 or 1) and `refusals` what was not. The rows of the test part are known to the
    guard alone.
    """

    def __init__(self, arrays: Sequence[Shaped[Array | np.ndarray, "n ..."]], split: Split):
        self.train: Arrays = tuple(array[split.train] for array in arrays)
        self.validation: Arrays = tuple(array[split.validation] for array in arrays)
        self.sizes: tuple[int, int, int] = (len(split.train), len(split.validation), len(split.test))
        self._test = SealedPart(*(array[split.test] for array in arrays), limit=1)

    def read(self, reason: str) -> Arrays:
        """The test part, for a stated reason; a second reading is refused with a ValueError and counted."""
        return self._test.open(reason)

    @property
    def readings(self) -> int:
        return len(self._test.accesses)

    @property
    def refusals(self) -> int:
        return len(self._test.refused)

    def __repr__(self) -> str:
        train, validation, test = self.sizes
        state = f"read for '{self._test.accesses[0]}'" if self.readings else "unread"
        return f"GuardedData(train {train}, validation {validation}, test {test} {state}, {self.refusals} refused)"


def guard(
    *arrays: Shaped[Array | np.ndarray, "_ ..."],
    labels: Column | None = None,
    groups: Column | None = None,
    times: Column | None = None,
    shares: Sequence[float] = (0.6, 0.2, 0.2),
    key: PRNGKeyArray | None = None,
) -> GuardedData:
    """The rows of the arrays in training, validation and test parts, the last under a seal that opens once.

    With `labels` each class is divided in the given shares, up to one row a part; with `groups` all rows of a group
    (a patient, a film) stay in one part; with `times` the past is trained on and the latest rows are the test; without
    any of them the parts are random. Scores that chose a model are optimistic: what is reported comes from a part
    that was read once, when nothing was left to choose.

    >>> import jax
    >>> x, y = np.arange(20.0)[:, None], np.arange(20) % 2
    >>> held = guard(x, y, labels=y, key=jax.random.key(0))
    >>> held
    GuardedData(train 12, validation 4, test 4 unread, 0 refused)
    >>> inputs, targets = held.read("error of the chosen model")
    >>> sorted(targets.tolist()), held.readings
    ([0, 0, 1, 1], 1)
    """
    require_rows("guard", **{f"array {k}": array for k, array in enumerate(arrays)} or {"arrays": ()})
    given = {
        name: np.asarray(column)
        for name, column in {"labels": labels, "groups": groups, "times": times}.items()
        if column is not None
    }
    n = len(arrays[0])
    if len(given) > 1:
        raise ValueError(f"guard got {' and '.join(given)}; give one of labels, groups and times.")
    for name, column in given.items():
        if column.shape != (n,):
            raise ValueError(f"guard got {name} of shape {column.shape} for {n} rows; give one entry a row.")
    if times is None and key is None:
        raise ValueError("guard got no key; give key=jax.random.key(seed), only a split by times needs none.")
    split = _divide(n, given, shares, key)
    if min(map(len, split)) == 0:
        sizes = ", ".join(str(len(part)) for part in split)
        raise ValueError(f"guard made parts of {sizes} rows out of {n}; give more rows or groups, or other shares.")
    if labels is not None:
        _require_every_class(given["labels"], split)
    return GuardedData(arrays, split)


def _divide(n: int, given: dict[str, np.ndarray], shares: Sequence[float], key: Any) -> Split:
    if "labels" in given:
        return stratified_split(given["labels"], shares, key=key)
    if "groups" in given:
        return grouped_split(given["groups"], shares, key=key)
    if "times" in given:
        return temporal_split(given["times"], shares)
    return random_split(n, shares, key=key)


def _require_every_class(labels: np.ndarray, split: Split) -> None:
    names, counts = np.unique(labels, return_counts=True)
    if len(names) == 1:
        raise ValueError(f"guard got labels of one class, {names[0]}; a split by class needs at least two.")
    for part, rows in zip(Split._fields, split, strict=True):
        missing = np.setdiff1d(names, labels[rows])
        if missing.size:
            rare = int(counts[names == missing[0]][0])
            raise ValueError(
                f"guard got {rare} rows of class {missing[0]}, too few for one in the {part} part; give more rows of "
                "it, or larger shares."
            )
