"""Values of a similarity of any objects, in blocks, and small changes of objects: what the hunter works with."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..algebra import Kernel, diagonal_of

Neighbour = Callable[[Any, np.random.Generator], Any]


class Blocks:
    """k on two lists of objects as a matrix, from a function of two objects or of two lists."""

    def __init__(self, similarity: Callable[[Any, Any], Any], of_lists: bool = False):
        self.similarity, self.of_lists = similarity, of_lists or isinstance(similarity, Kernel)
        self.known: dict[tuple[Hashable, Hashable], float] = {}
        self.precision = float(np.finfo(np.float64).eps)

    def __call__(self, x: Sequence[Any], z: Sequence[Any]) -> Float[np.ndarray, "m n"]:
        if self.of_lists:
            values = np.asarray(self.similarity(_stacked(x), _stacked(z)))
            if values.shape != (len(x), len(z)):
                raise ValueError(
                    f"The similarity gave an array of shape {values.shape} for lists of {len(x)} and {len(z)} objects; "
                    "it must give the matrix of all pairs."
                )
            if values.dtype == np.float32:
                self.precision = float(np.finfo(np.float32).eps)
            values = values.astype(np.float64)
        else:
            values = np.array([[self.value(a, b) for b in z] for a in x], dtype=np.float64).reshape(len(x), len(z))
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"The similarity gave {values[i, j]} for {x[i]!r} and {z[j]!r}; it must give finite numbers."
            )
        return values

    def value(self, x: Any, z: Any) -> float:
        if not isinstance(x, str | bytes | int | tuple):
            return float(self.similarity(x, z))
        pair = (x, z)
        if pair not in self.known:
            self.known[pair] = float(self.similarity(x, z))
        return self.known[pair]

    def gram(self, points: Sequence[Any]) -> Float[np.ndarray, "n n"]:
        matrix = self(points, points)
        return (matrix + matrix.T) / 2

    def diagonal(self, points: Sequence[Any]) -> Float[np.ndarray, " n"]:
        if isinstance(self.similarity, Kernel):
            return np.asarray(diagonal_of(self.similarity, _stacked(points)), np.float64)
        return np.array([self([p], [p])[0, 0] for p in points])

    def slope(self, points: Sequence[Any], v: np.ndarray, step_size: float) -> list[Any]:
        """The derivative of v·Gv by each of the vectors, from central differences."""
        flat = np.array([np.ravel(p) for p in points], float)  # (n, d)
        n, d = flat.shape
        shape = np.shape(points[0])
        rows = (
            flat[:, None, None, :] + step_size * np.array([1.0, -1.0])[:, None][None, :, None] * np.eye(d)[None, None]
        )
        moved = [self.restore(r, shape) for r in rows.reshape(-1, d)]  # of point i, forth and back, along axis c
        values = self(moved, points).reshape(n, 2, d, n)
        own = self.diagonal(moved).reshape(n, 2, d)
        change = values[:, 0] - values[:, 1]  # (n, d, n)
        change[np.arange(n), :, np.arange(n)] = (own[:, 0] - own[:, 1]) / 2
        slope = 2 * v[:, None] * (change @ v) / (2 * step_size)
        return [self.restore(g, shape) for g in slope]

    @staticmethod
    def restore(row: np.ndarray, shape: tuple[int, ...]) -> Any:
        return row.reshape(shape) if shape else float(row[0])


def distinct(objects: Sequence[Any], taken: Sequence[Any] = (), apart: float = 0.0) -> list[Any]:
    """The objects without repetitions and without those taken already; vectors must be more than `apart` from them."""
    if all(isinstance(p, np.ndarray | float) for p in [*objects, *taken]):
        kept: list[Any] = []
        others = np.array([np.ravel(p) for p in taken]) if len(taken) else None
        for p in objects:
            if others is None or np.abs(others - np.ravel(p)).max(axis=1).min() > apart:
                kept.append(p)
        unique = np.unique([np.ravel(p) for p in kept], axis=0, return_index=True)[1] if kept else []
        return [kept[i] for i in sorted(unique)]
    found: list[Any] = []
    for p in objects:
        if p not in taken and p not in found:
            found.append(p)
    return found


def neighbour_of(sample: Sequence[Any], spread: float) -> Neighbour:
    """A small random change of an object like those of the sample; a fresh one where its kind has none."""
    if all(isinstance(p, np.ndarray | float) for p in sample):
        return lambda p, rng: p + spread * 10 ** -rng.uniform(0, 2) * rng.normal(size=np.shape(p) or None)
    if all(isinstance(p, str | tuple) for p in sample):
        symbols = sorted({symbol for p in sample for symbol in p}, key=repr)
        return lambda p, rng: _edited(p, symbols, rng)
    return lambda p, rng: sample[int(rng.integers(len(sample)))]


def _edited(sequence: Any, symbols: Sequence[Any], rng: np.random.Generator) -> Any:
    """One symbol inserted, deleted or replaced."""
    if not symbols:
        return sequence
    i, kind = int(rng.integers(len(sequence) + 1)), rng.integers(3)
    symbol = symbols[int(rng.integers(len(symbols)))]
    new = [symbol] if kind < 2 else []
    changed = [*sequence[:i], *new, *sequence[i + (kind > 0) :]]
    return "".join(changed) if isinstance(sequence, str) else tuple(changed)


def _stacked(objects: Sequence[Any]) -> Any:
    if isinstance(objects[0], np.ndarray | float):
        return np.array([np.ravel(p) for p in objects], float)
    return list(objects)
