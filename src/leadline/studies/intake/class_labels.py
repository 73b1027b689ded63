"""Labels as numbers 0, 1, ...: texts in sorted order, or the classes that a network was fitted to."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from leadline._messages import brief
from leadline.evidence import BadInput


class Labels(NamedTuple):
    """The targets of training and test rows as numbers, and the names of the classes where they have some."""

    train: np.ndarray
    test: np.ndarray | None
    classes: tuple[str, ...] = ()


def numbered(train: np.ndarray, test: np.ndarray | None, known: Sequence[Any] | np.ndarray | None = None) -> Labels:
    """Texts become the places of their sorted order, over training and test rows together.

    `known` are the classes of a network that has its own list of them, in the order of its scores.

    >>> numbered(np.array(["dog", "cat", "dog"]), np.array(["eel"]))
    Labels(train=array([1, 0, 1]), test=array([2]), classes=('cat', 'dog', 'eel'))
    """
    parts = [train] if test is None else [train, test]
    if known is None:
        if not any(part.dtype.kind in "US" for part in parts):
            return Labels(train, test)
        if len({part.dtype.kind in "US" for part in parts}) > 1:
            raise BadInput(
                f"Training targets have type {train.dtype} and test targets {parts[1].dtype}; give both as texts."
            )
        known = np.unique(np.concatenate([part.ravel() for part in parts]))
    known = np.asarray(known)
    places = [_places(part, known) for part in parts]
    plain = known.dtype.kind in "iu" and (known == np.arange(len(known))).all()
    return Labels(places[0], places[1] if len(places) > 1 else None, () if plain else tuple(map(str, known)))


def _places(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    number = {value: place for place, value in enumerate(known.tolist())}
    for label in np.unique(labels).tolist():
        if label not in number:
            raise BadInput(
                f"The label {brief(label)} is none of the network's classes {brief(', '.join(map(str, number)))}; "
                "leave such rows out."
            )
    return np.array([number[value] for value in labels.ravel().tolist()], np.int64).reshape(labels.shape)
