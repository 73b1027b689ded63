"""Edit distance between strings, and two similarities made of it that are not kernels."""

import numpy as np
from jaxtyping import Float, Int

from .symbol_codes import Sequences, encode


def edit_distances(strings: Sequences, others: Sequences | None = None) -> Int[np.ndarray, "m n"]:
    """Levenshtein's distance for all pairs: the fewest insertions, deletions and substitutions of one symbol.

    d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [s_i ≠ t_j]); one row of the table for all t at once.

    >>> edit_distances(["kitten", ""], ["sitting", "kit"]).tolist()
    [[3, 3], [7, 3]]
    """
    left, right = encode(strings, strings if others is None else others)
    columns = np.arange(right.codes.shape[1] + 1)
    result = np.empty((len(left.lengths), len(right.lengths)), dtype=int)
    for i, (codes, length) in enumerate(zip(left.codes, left.lengths, strict=True)):
        row = np.tile(columns, (len(right.lengths), 1))
        for symbol in codes[:length]:
            step = row + 1
            np.minimum(step[:, 1:], row[:, :-1] + (right.codes != symbol), out=step[:, 1:])
            # the insertions: min over j' ≤ j of step(j') + j - j'
            row = np.minimum.accumulate(step - columns, axis=1) + columns
        result[i] = np.take_along_axis(row, right.lengths[:, None], axis=1)[:, 0]
    return result


def edit_similarity(strings: Sequences, others: Sequences, *, gamma: float = 1.0) -> Float[np.ndarray, "m n"]:
    """exp(-γ d) with the edit distance d: symmetric, 1 on the diagonal, and not positive semidefinite.

    >>> edit_similarity(["a"], ["a", "ab"]).round(4).tolist()
    [[1.0, 0.3679]]
    """
    return np.exp(-gamma * edit_distances(strings, others))


def relative_edit_similarity(strings: Sequences, others: Sequences) -> Float[np.ndarray, "m n"]:
    """1 - d/max(|s|, |t|) with the edit distance d, 1 for two empty strings: not positive semidefinite either.

    >>> relative_edit_similarity(["ab"], ["ab", "a", "cd"]).tolist()
    [[1.0, 0.5, 0.0]]
    """
    longest = np.maximum(np.array([len(s) for s in strings])[:, None], np.array([len(t) for t in others])[None, :])
    return 1 - edit_distances(strings, others) / np.maximum(longest, 1)
