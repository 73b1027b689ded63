"""Memorisers: tables from inputs to labels that have no training error and learn nothing."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Real

Label = int | float | str


class Memoriser(NamedTuple):
    """A table from the chosen columns of an input to its label, and a default for what was never seen.

    `conflicts` holds the pairs of training rows (first, later) with equal keys and different labels; the first wins.
    """

    table: dict[bytes, Label]
    default: Label
    columns: tuple[int, ...]
    conflicts: tuple[tuple[int, int], ...]

    def __call__(self, inputs: Real[np.ndarray, "n d"]) -> np.ndarray:
        """The remembered labels, the default for unknown keys."""
        return np.array([self.table.get(key, self.default) for key in _keys(inputs, self.columns)])


def memorise(
    inputs: Real[np.ndarray, "n d"],
    labels: Sequence[Label] | np.ndarray,
    *,
    columns: Sequence[int] | None = None,
    default: Label | None = None,
) -> Memoriser:
    """Remember every input by all of its entries (a hash table), or by the chosen columns: by one pixel, say.

    The default label is the commonest one unless given (the least of several). There is no training error if and only
    if no two rows with different labels have equal keys.

    >>> seen = memorise(np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 3.0]]), [1, -1, 1])
    >>> seen(np.array([[2.0, 1.0], [7.0, 7.0]])).tolist(), seen.conflicts
    ([-1, 1], ())
    """
    inputs, labels = np.asarray(inputs), np.asarray(labels)
    if inputs.ndim != 2 or len(inputs) != len(labels) or len(labels) == 0:
        raise ValueError(
            f"memorise got inputs of shape {inputs.shape} and {len(labels)} labels; give inputs in rows and one label "
            "for each."
        )
    chosen = tuple(range(inputs.shape[1])) if columns is None else tuple(int(c) for c in columns)
    if not chosen or not all(0 <= c < inputs.shape[1] for c in chosen):
        raise ValueError(f"memorise got columns {chosen}; choose some of 0 to {inputs.shape[1] - 1}.")
    table: dict[bytes, int] = {}
    conflicts = []
    for row, key in enumerate(_keys(inputs, chosen)):
        first = table.setdefault(key, row)
        if labels[first] != labels[row]:
            conflicts.append((first, row))
    fallback = _commonest(labels) if default is None else default
    return Memoriser({k: labels[row].item() for k, row in table.items()}, fallback, chosen, tuple(conflicts))


def _commonest(labels: np.ndarray) -> Label:
    values, counts = np.unique(labels, return_counts=True)
    return values[np.argmax(counts)].item()


def usable_columns(inputs: Real[np.ndarray, "n d"]) -> Bool[np.ndarray, " d"]:
    """The columns whose n values are all different: each of them alone can serve as a memoriser's key.

    >>> usable_columns(np.array([[1, 0], [2, 0], [3, 1]])).tolist()
    [True, False]
    """
    ordered = np.sort(np.asarray(inputs), axis=0)
    return np.all(ordered[1:] != ordered[:-1], axis=0)


def usable_probability(samples: int, levels: int) -> float:
    """P(n independent uniform values out of K are all different) = Π_{k<n} (1 - k/K), the birthday problem.

    >>> round(usable_probability(50, 256), 4), round(usable_probability(50, 256**3), 5)
    (0.0059, 0.99993)
    """
    if samples < 0 or levels < 1:
        raise ValueError(f"usable_probability got {samples} samples and {levels} levels; give n ≥ 0 and K ≥ 1.")
    if samples > levels:
        return 0.0
    product = Fraction(1)
    if samples <= 200:
        for k in range(samples):
            product *= Fraction(levels - k, levels)
        return float(product)
    return float(np.exp(np.log1p(-np.arange(samples) / levels).sum()))


def consistent_functions(inputs: int, labelled: int) -> int:
    """How many binary functions on a set of |X| inputs agree with n labelled points: 2^(|X| - n).

    >>> consistent_functions(16, 10)
    64
    """
    if not 0 <= labelled <= inputs:
        raise ValueError(f"consistent_functions got {labelled} labelled of {inputs} inputs; choose 0 to {inputs}.")
    return 2 ** (inputs - labelled)


def _keys(inputs: Real[np.ndarray, "n d"], columns: tuple[int, ...]) -> list[bytes]:
    kept = np.ascontiguousarray(np.asarray(inputs, float)[:, list(columns)] + 0.0)  # + 0.0 makes -0.0 equal to 0.0
    return [row.tobytes() for row in kept]


def disagreements(memoriser: Memoriser, inputs: Real[np.ndarray, "n d"], labels: np.ndarray) -> Int[np.ndarray, " k"]:
    """The rows on which the memoriser is wrong.

    >>> table = memorise(np.array([[0.0], [1.0]]), [0, 1])
    >>> disagreements(table, np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])).tolist()
    [2]
    """
    return np.flatnonzero(memoriser(inputs) != np.asarray(labels))
