"""Rows from data loaders, datasets and any iterable of batches, as many as a study looks at."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from leadline._messages import brief, reason
from leadline.evidence import BadInput
from leadline.frameworks.checks import kind_of

from .arrays import as_array

#: names of inputs and targets, as files and loaders have them; a mask may come with any
NAMES = tuple(
    (*names, "mask")
    for names in (("inputs", "targets"), ("x", "y"), ("X", "y"), ("images", "labels"), ("data", "target"))
)
BATCH_NAMES = (*NAMES, ("image", "label", "mask"), ("input_ids", "labels", "mask"), ("features", "label", "mask"))
EMPTY = 100  # batches without rows in succession, after which no more are awaited


class GivenRows(NamedTuple):
    """Inputs, targets and, for sequences, which targets count, as they were given; `source` says what was read."""

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray | None = None
    source: str = ""


def given_rows(given: Any, what: str, most: int) -> GivenRows:
    """Rows from a pair (inputs, targets), a triple with a mask, a mapping of these, or batches of them, up to `most`.

    >>> pairs = ((np.ones((4, 3)), np.zeros(4)) for _ in iter(int, 1))
    >>> rows = given_rows(pairs, "training", 10)
    >>> rows.inputs.shape, rows.source
    ((10, 3), 'the first 10 rows of a generator')
    """
    if is_stream(given):
        return _read(given, what, most)
    inputs, targets, *mask = _arrays(given, what, f"The {what} data are {kind_of(given)}")
    return GivenRows(inputs, targets, mask[0] if mask else None)


def is_stream(given: Any) -> bool:
    """Whether this is to be read batch by batch."""
    if isinstance(given, str | bytes | Mapping | tuple) or hasattr(given, "shape"):
        return False
    if isinstance(given, list):
        return len(given) not in (2, 3) or (
            all(isinstance(b, tuple | list) and len(b) == 2 for b in given)
            and all(hasattr(part, "shape") for batch in given for part in batch)
        )
    return hasattr(given, "__iter__") or (hasattr(given, "__getitem__") and hasattr(given, "__len__"))


def named_part(arrays: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...] | None:
    """Inputs and targets of these names, with the mask where there is one; None where one of the two is missing."""
    x, y, mask = names
    return tuple(arrays[name] for name in (x, y, mask) if name in arrays) if x in arrays and y in arrays else None


def _read(given: Any, what: str, most: int) -> GivenRows:
    kept: list[tuple[np.ndarray, ...]] = []
    count = empty = 0
    batches = _batches(given)
    while count < most and empty < EMPTY:
        try:
            batch = next(batches, None)
        except Exception as error:  # whatever a user's loader raises
            raise BadInput(
                f"Batch {len(kept)} of the {what} data, {kind_of(given)}, cannot be read: {reason(error)}."
            ) from None
        if batch is None:
            break
        parts = _arrays(batch, what, f"Batch {len(kept)} of the {what} data is {kind_of(batch)}")
        if parts[1].ndim == 0:  # a single example, as a dataset gives
            parts = tuple(part[None] for part in parts)
        empty = 0 if len(parts[0]) else empty + 1
        if len(parts[0]):
            _refuse_other_shapes(kept, parts, what)
            kept.append(parts)
            count += len(parts[0])
    if not kept:
        raise BadInput(f"The {what} data, {kind_of(given)}, give no rows; give some.")
    joined = tuple(np.concatenate(part)[:most] for part in zip(*kept, strict=True))
    told = f"the first {most:,} rows" if count >= most else f"all {count:,} rows"
    inputs, targets, *mask = joined
    return GivenRows(inputs, targets, mask[0] if mask else None, f"{told} of {kind_of(given)}")


def _batches(given: Any) -> Iterator[Any]:
    if hasattr(given, "as_numpy_iterator"):  # of TensorFlow
        return given.as_numpy_iterator()
    return iter(given) if hasattr(given, "__iter__") else (given[i] for i in range(len(given)))


def _arrays(given: Any, what: str, whose: str) -> tuple[np.ndarray, ...]:
    pair = given
    if isinstance(given, Mapping):
        pair = next((part for names in BATCH_NAMES if (part := named_part(given, names)) is not None), None)
    if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
        names = f" with {brief(', '.join(map(str, given)))}" if isinstance(given, Mapping) else ""
        raise BadInput(
            f"{whose}{names}, which must be a pair (inputs, targets), or a triple with a mask of the targets."
        )
    return tuple(
        as_array(part, f"{what} {name}") for part, name in zip(pair, ("inputs", "targets", "mask"), strict=False)
    )


def _refuse_other_shapes(kept: list[tuple[np.ndarray, ...]], parts: tuple[np.ndarray, ...], what: str) -> None:
    if not kept:
        return
    before, now = ([part.shape[1:] for part in batch] for batch in (kept[0], parts))
    if before != now:
        raise BadInput(
            f"Rows of the {what} data have shapes {_listed(before)} in the first batch and {_listed(now)} in batch "
            f"{len(kept)}; pad or cut them to one shape."
        )


def _listed(shapes: list[tuple[int, ...]]) -> str:
    return " and ".join(map(str, shapes))
