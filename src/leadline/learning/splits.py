"""Splits into training, validation and test part: at random, by class, by group, by time; the test part is sealed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, Shaped

from leadline.data import generator

Rows = Int[np.ndarray, " part"]
Labels = Shaped[Array | np.ndarray, " n"]


class Split(NamedTuple):
    """The rows of each part, in increasing order."""

    train: Rows
    validation: Rows
    test: Rows


def random_split(n: int, shares: Sequence[float] = (0.6, 0.2, 0.2), *, key: PRNGKeyArray) -> Split:
    """A uniformly random partition of n rows; the sizes are shares·n, rounded so that they sum to n.

    >>> import jax
    >>> [len(part) for part in random_split(10, key=jax.random.key(0))]
    [6, 2, 2]
    """
    return _join([_deal(np.arange(n), _three(shares), generator(key))])


def stratified_split(labels: Labels, shares: Sequence[float] = (0.6, 0.2, 0.2), *, key: PRNGKeyArray) -> Split:
    """A random partition in which every class is divided in the given shares, up to one example a part.

    >>> import jax
    >>> labels = np.array([0] * 10 + [1] * 5)
    >>> [np.bincount(labels[part]).tolist() for part in stratified_split(labels, key=jax.random.key(0))]
    [[6, 3], [2, 1], [2, 1]]
    """
    labels, rng = np.asarray(labels), generator(key)
    return _join([_deal(np.flatnonzero(labels == c), _three(shares), rng) for c in np.unique(labels)])


def grouped_split(groups: Labels, shares: Sequence[float] = (0.6, 0.2, 0.2), *, key: PRNGKeyArray) -> Split:
    """A random partition of the groups: all rows of a group (a patient, a film) fall in one part.

    The shares are those of the groups; the rows follow.

    >>> import jax
    >>> groups = np.repeat(np.arange(5), 4)
    >>> [np.unique(groups[part]).size for part in grouped_split(groups, key=jax.random.key(0))]
    [3, 1, 1]
    """
    groups = np.asarray(groups)
    names = np.unique(groups)
    dealt = _deal(np.arange(len(names)), _three(shares), generator(key))
    return Split(*(np.flatnonzero(np.isin(groups, names[part])) for part in dealt))


def temporal_split(times: Labels, shares: Sequence[float] = (0.6, 0.2, 0.2)) -> Split:
    """The earliest rows to train on, later ones to validate, the latest to test; rows of one time stay together.

    A model that will meet the future is judged on what was, for it, the future. A part takes whole moments while the
    rows up to their middle are within its share, so that the sizes are shares·n up to half a moment.

    >>> [part.tolist() for part in temporal_split(np.array([5, 1, 2, 4, 3]))]
    [[1, 2, 4], [3], [0]]
    """
    times = np.asarray(times)
    if times.ndim != 1 or not times.size or (times.dtype.kind in "fmM" and np.isnan(times).any()):
        raise ValueError(f"temporal_split got times of shape {times.shape}; give one known time for each row.")
    _, moment, counts = np.unique(times, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    part = np.searchsorted(np.cumsum(_three(shares))[:2] * len(times) + 1e-9, middle)[moment]
    return Split(*(np.flatnonzero(part == k) for k in range(3)))


class SealedPart:
    """Data that can be had only for a stated reason; `accesses` lists the reasons, in order.

    A score on a part that has been opened to choose a model is no estimate of risk any more: the log tells. With a
    `limit`, further readings are refused, and `refused` lists what they were for.

    >>> sealed = SealedPart(np.arange(3))
    >>> sealed
    SealedPart(sealed)
    >>> sealed.open("final report")[0].tolist(), sealed.accesses
    ([0, 1, 2], ('final report',))
    """

    def __init__(self, *arrays: Shaped[Array | np.ndarray, "..."], limit: int | None = None):
        if not arrays:
            raise ValueError("SealedPart got nothing to seal; give at least one array.")
        if limit is not None and limit < 1:
            raise ValueError(
                f"SealedPart got limit = {limit}; what may never be read needs no keeping: give 1 or more."
            )
        self._arrays = arrays
        self._limit = limit
        self._accesses: list[str] = []
        self._refused: list[str] = []

    def open(self, reason: str) -> tuple[Any, ...]:
        """The arrays, after the reason has been logged; ValueError beyond the limit."""
        if not reason.strip():
            raise ValueError("The sealed part opens only for a reason; say what it is read for.")
        if self._limit is not None and len(self._accesses) >= self._limit:
            self._refused.append(reason)
            raise ValueError(
                f"The sealed part was already read for '{self._accesses[-1]}' (refused since: {len(self._refused)}); "
                "choose on the validation part, or seal new data."
            )
        self._accesses.append(reason)
        return self._arrays

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused)

    @property
    def accesses(self) -> tuple[str, ...]:
        return tuple(self._accesses)

    def __repr__(self) -> str:
        return f"SealedPart({f'opened {len(self._accesses)} times' if self._accesses else 'sealed'})"


def _three(shares: Sequence[float]) -> np.ndarray:
    three = np.asarray(shares, float)
    if three.shape != (3,) or (three < 0).any() or not np.isclose(three.sum(), 1.0):
        raise ValueError(f"A split needs three shares (train, validation, test) with sum 1; got {three.tolist()}.")
    return three


def _deal(rows: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Shuffled rows in parts of size shares·n, by largest remainder."""
    exact = shares * len(rows)
    sizes = np.floor(exact + 1e-9).astype(int)
    for k in np.argsort(sizes - exact, kind="stable")[: len(rows) - sizes.sum()]:
        sizes[k] += 1
    return np.split(rng.permutation(rows), np.cumsum(sizes)[:-1])


def _join(dealt: list[list[np.ndarray]]) -> Split:
    return Split(*(np.sort(np.concatenate(part)) for part in zip(*dealt, strict=True)))
