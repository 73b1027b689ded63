"""Sequences of symbols as a table of whole numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

Sequences = Sequence[str] | Sequence[Sequence[Any]]


class Coded(NamedTuple):
    """One sequence a row, filled up at the end with -1."""

    codes: Int[np.ndarray, "n longest"]
    lengths: Int[np.ndarray, " n"]


def encode(*collections: Sequences) -> list[Coded]:
    """Strings, or sequences of any hashable symbols, with one numbering of the symbols for all collections.

    >>> encode(["ab", "b"])[0].codes.tolist()
    [[0, 1], [1, -1]]
    """
    numbers: dict[Any, int] = {}
    tables = []
    for collection in collections:
        if isinstance(collection, str):
            raise ValueError(f"Expected a list of strings, got the one string {collection[:40]!r}; put it in a list.")
        lengths = np.array([len(s) for s in collection], dtype=int)
        codes = np.full((len(lengths), max(lengths, default=0)), -1, np.int32)
        for row, sequence in zip(codes, collection, strict=True):
            row[: len(sequence)] = [numbers.setdefault(symbol, len(numbers)) for symbol in sequence]
        tables.append(Coded(codes, lengths))
    return tables
