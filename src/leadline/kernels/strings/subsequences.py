"""The kernel of common subsequences of two strings."""

from collections.abc import Iterator

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..algebra import Kernel
from .symbol_codes import Coded, Sequences, encode

_ENTRIES = 1_000_000  # of the table of positions that is held at a time


class Subsequence(Kernel):
    """Σ_u φ_u(s) φ_u(t) over all strings u of `length` symbols, φ_u(s) = Σ λ^span over the occurrences of u in s.

    An occurrence may have gaps; its span is the stretch of s that it covers. The dynamic programme (Lodhi et al.
    2002) takes O(length |s| |t|): the sums over earlier positions of s and of t are recursions, here for all t at
    once. `Normalised(Subsequence(...))` takes out the lengths of the strings.

    >>> Subsequence(2, 0.5)(["cat"], ["car", "cat"]).tolist()
    [[0.0625, 0.140625]]
    """

    length: int = eqx.field(static=True, default=2)
    decay: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        if self.length < 1:
            raise ValueError(f"Subsequence got length {self.length}; give a whole number of at least 1.")
        if not 0 < self.decay <= 1:
            raise ValueError(f"Subsequence got decay = {self.decay:g}; give a number above 0 and at most 1.")

    def __call__(self, x: Sequences, z: Sequences) -> Float[np.ndarray, "m n"]:
        left, right = encode(x, z)
        same = x is z
        result = np.zeros((len(left.lengths), len(right.lengths)))
        order = np.argsort(right.lengths, kind="stable")  # strings of like length together: little is filled up
        for i, length in enumerate(left.lengths):
            wanted = order[order >= i] if same else order
            for part in _parts(wanted, right, int(length)):
                widest = right.lengths[part].max()
                result[i, part] = self._against(left.codes[i, :length], right.codes[part, :widest])
        return np.triu(result) + np.triu(result, 1).T if same else result

    def diagonal(self, x: Sequences) -> Float[np.ndarray, " m"]:
        (table,) = encode(x)
        rows = [codes[:n] for codes, n in zip(table.codes, table.lengths, strict=True)]
        return np.array([self._against(row, row[None])[0] for row in rows])

    def _against(self, s: np.ndarray, others: np.ndarray) -> np.ndarray:
        """k(s, t) for the rows t of a table; D(b, a, j) sums over matches that end at symbol b of t_j and at s_a."""
        if min(len(s), others.shape[1]) < self.length:
            return np.zeros(len(others))
        columns = np.ascontiguousarray(others.T)  # the strings t along the last axis, which the recursions run beside
        matches = self.decay**2 * (columns[:, None, :] == s[None, :, None])  # (|t|, |s|, n)
        ending = matches
        for _ in range(self.length - 1):
            earlier = _earlier(_earlier(ending, self.decay).swapaxes(0, 1), self.decay).swapaxes(0, 1)
            ending = np.multiply(matches, earlier, out=earlier)
        return ending.sum(axis=(0, 1))


def _earlier(ending: np.ndarray, decay: float) -> np.ndarray:
    """Σ over b < a of λ^(a - b - 1) D(b) along the first axis: E(a) = λ E(a - 1) + D(a - 1)."""
    summed = np.empty_like(ending)
    summed[0] = 0.0
    for before, d, here in zip(summed[:-1], ending[:-1], summed[1:], strict=True):
        np.multiply(before, decay, out=here)
        here += d
    return summed


def _parts(indices: np.ndarray, table: Coded, length: int) -> Iterator[np.ndarray]:
    """The indices in parts whose table of positions has a bounded size."""
    if len(indices) == 0:
        return
    longest = max(int(table.lengths[indices].max()) * int(length), 1)
    parts = min(len(indices), -(-len(indices) * longest // _ENTRIES))
    yield from np.array_split(indices, parts)
