"""The hunter: a search for points on which a similarity has a negative Gram eigenvalue, so is no kernel."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.data import generator

from ..gram.similarity_blocks import Blocks, Neighbour, distinct, neighbour_of
from .certificates import Hunt

Sampler = Callable[[np.random.Generator], Any]

_CANDIDATES = 32
_WHOLE_POOL = 400
_LARGEST = 128
_LATTICE = 1e-3  # of the spread of vectors: points are moved on such a lattice, so that none nearly coincide


def hunt(
    similarity: Callable[[Any, Any], Any],
    sampler: Sampler | None = None,
    *,
    pool: Sequence[Any] | None = None,
    key: PRNGKeyArray,
    trials: int = 10_000,
    size: int = 8,
    seconds: float = 10.0,
    neighbour: Neighbour | None = None,
    of_lists: bool = False,
) -> Hunt:
    """Search for a certificate that `similarity` is not a kernel: a set with a negative Gram eigenvalue, made minimal.

    `similarity(x, z)` takes two objects of any kind and gives a number; a `Kernel`, or a function marked `of_lists`,
    takes two lists (vectors: two arrays of rows) and gives the matrix. `sampler(rng)` draws one object, or `pool` lists
    them. Random sets grow by the candidate that lowers the least eigenvalue most; then vectors go down the gradient of
    the eigenvalue (differences of k), and weak points are swapped for neighbours and fresh draws. `neighbour(x, rng)`
    changes an object a little; strings, tuples and vectors have one. Never a proof: "not refuted" is all it can say.

    >>> import jax
    >>> found = hunt(lambda x, z: (x - z) ** 2, lambda rng: rng.normal(), key=jax.random.key(0))
    >>> found.refuted, len(found.points)
    (True, 2)
    """
    if sampler is not None and pool is None:
        draw = sampler
    elif sampler is None and pool is not None:
        draw = _drawn_from(pool)
    else:
        raise ValueError("hunt needs either a sampler or a pool of objects; give exactly one of them.")
    if pool is not None and len(pool) == 0:
        raise ValueError("hunt got an empty pool; give at least one object.")
    if trials < 1 or size < 2:
        raise ValueError(f"hunt got trials = {trials} and size = {size}; give at least 1 trial and sets of 2 points.")
    rng = generator(key)
    if pool is not None:
        neighbour = neighbour or (lambda _, rng: draw(rng))
    return _Search(Blocks(similarity, of_lists), draw, rng, trials, size, seconds, neighbour, pool).run()


def _drawn_from(pool: Sequence[Any]) -> Callable[[np.random.Generator], Any]:
    return lambda rng: pool[int(rng.integers(len(pool)))]


class _PointSet(NamedTuple):
    points: list[Any]
    matrix: np.ndarray
    least: float  # eigenvalue


class _Search:
    def __init__(self, blocks, draw, rng, trials, size, seconds, neighbour, pool):
        self.blocks, self.draw, self.rng, self.size, self.pool = blocks, draw, rng, size, pool
        self.budget, self.deadline = trials, time.monotonic() + seconds
        self.trials, self.history, self.large = 0, [], min(8 * size, _LARGEST)
        self.sample = self.drawn(_CANDIDATES)
        self.vectors = pool is None and all(isinstance(p, np.ndarray | float) for p in self.sample)  # free to move
        self.spread = float(np.std([np.asarray(p, float) for p in self.sample])) or 1.0 if self.vectors else 0.0
        self.neighbour = neighbour or neighbour_of(self.sample, self.spread)

    def run(self) -> Hunt:
        pair = self.asymmetric_pair()
        if pair is not None:
            return pair
        if self.pool is not None and len(self.pool) <= _WHOLE_POOL:  # no part is worse than the whole (interlacing)
            return self.verdict(self.measured(distinct(list(self.pool))))
        while True:
            found = self.grow()
            if self.undecided(found) and self.vectors:
                found = self.descend(found)
            for _ in range(self.size):
                if self.undecided(found):
                    found = self.swap(found)
            if self.undecided(found):  # a large set at random: it holds every part of itself, at one evaluation
                found = self.measured(distinct(self.drawn(self.large)))
                self.large = min(2 * self.large, _LARGEST)
            if not self.undecided(found):
                return self.verdict(found)

    def drawn(self, count: int) -> list[Any]:
        return [self.draw(self.rng) for _ in range(count)]

    def asymmetric_pair(self) -> Hunt | None:
        half = len(self.sample) // 2
        left, right = self.sample[:half], self.sample[half:]
        there, back = self.blocks(left, right), self.blocks(right, left).T
        gap = np.abs(there - back)
        if gap.max() <= self.tolerance(there) + self.tolerance(back):
            return None
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        value = float(there[i, j] - back[i, j])
        return Hunt(True, "asymmetric", (left[i], right[j]), np.zeros(2), value, 1, ((1, value),))

    def undecided(self, found: _PointSet) -> bool:
        """No certificate yet, and trials and time left."""
        in_budget = self.trials < self.budget and time.monotonic() < self.deadline
        return in_budget and not self.is_negative(found)

    def is_negative(self, found: _PointSet) -> bool:
        return found.least < -self.tolerance(found.matrix)

    def tolerance(self, matrix: np.ndarray) -> float:
        """n max|G| ε, times 64 for what the evaluation of k loses."""
        return float(64 * len(matrix) * np.abs(matrix).max() * self.blocks.precision)

    def measured(self, points: list[Any]) -> _PointSet:
        matrix = self.blocks.gram(points)
        least = np.linalg.eigvalsh(matrix)[:1]
        self.tried(least)
        return _PointSet(points, matrix, float(least[0]))

    def tried(self, values: np.ndarray) -> None:
        lowest = float(values.min())
        if not self.history or lowest < self.history[-1][1]:
            self.history.append((self.trials + int(values.argmin()) + 1, lowest))
        self.trials += values.size

    def grow(self) -> _PointSet:
        """Add the candidate that lowers the least eigenvalue most, until there are `size` points or one is negative."""
        found = self.measured(self.drawn(1))
        while len(found.points) < self.size and self.undecided(found):
            larger = self.extend(found, self.drawn(_CANDIDATES))
            if larger is None:  # nothing but points that are there already: a small discrete space
                break
            found = larger
        return found

    def extend(self, found: _PointSet, candidates: list[Any]) -> _PointSet | None:
        candidates = distinct(candidates, found.points, self.spread * 10 * _LATTICE)
        if not candidates:
            return None
        n, c = len(found.points), len(candidates)
        bordered = np.empty((c, n + 1, n + 1))
        bordered[:, :n, :n] = found.matrix
        if n:
            bordered[:, :n, n] = bordered[:, n, :n] = self.blocks(found.points, candidates).T
        bordered[:, n, n] = self.blocks.diagonal(candidates)
        least = np.linalg.eigvalsh(bordered)[:, 0]
        self.tried(least)
        best = int(least.argmin())
        return _PointSet([*found.points, candidates[best]], bordered[best], float(least[best]))

    def swap(self, found: _PointSet) -> _PointSet:
        """Replace the point with the least share in the lowest eigenvector, where that lowers the eigenvalue."""
        share = np.abs(np.linalg.eigh(found.matrix)[1][:, 0])
        kept = np.delete(np.arange(len(share)), share.argmin())
        near = [found.points[i] for i in self.rng.integers(len(share), size=_CANDIDATES // 2)]
        near = [self.neighbour(p, self.rng) for p in near] + self.drawn(_CANDIDATES // 2)
        new = self.extend(_part(found, kept), near)
        return new if new is not None and new.least < found.least else found

    def descend(self, found: _PointSet) -> _PointSet:
        """Down the gradient of the least eigenvalue v·Gv: Σ_j 2 v_i v_j ∂k(x_i, x_j), by differences of k."""
        for _ in range(12):
            v = np.linalg.eigh(found.matrix)[1][:, 0]
            slope = self.blocks.slope(found.points, v, 1e-5 * self.spread)
            steepest = max(float(np.abs(g).max()) for g in slope)
            if not steepest > 0:
                break
            steps = self.spread / steepest * np.array([1.0, 0.3, 0.1, 0.03])
            moved = [[self.on_lattice(p - t * g) for p, g in zip(found.points, slope, strict=True)] for t in steps]
            best = min((self.measured(m) for m in moved), key=lambda m: m.least)
            if not best.least < found.least or len(distinct(best.points)) < len(v):
                break
            found = best
            if not self.undecided(found):
                break
        return found

    def on_lattice(self, point: Any) -> Any:
        step = 10.0 ** np.floor(np.log10(_LATTICE * self.spread))
        moved = np.round(np.asarray(point, float) / step) * step
        return moved if isinstance(point, np.ndarray) else float(moved)

    def verdict(self, found: _PointSet) -> Hunt:
        if not self.is_negative(found):
            return Hunt(False, "", (), np.zeros(0), 0.0, self.trials, tuple(self.history))
        found = self.shrink(found)
        for _ in range(self.size):  # a clearer certificate of the same size
            found = self.swap(found)
        if self.vectors:
            found = self.simplify(found)
        c = np.linalg.eigh(found.matrix)[1][:, 0]
        c = c * (np.sign(c[np.abs(c).argmax()]) or 1.0)
        value = float(c @ found.matrix @ c)
        return Hunt(True, "negative eigenvalue", tuple(found.points), c, value, self.trials, tuple(self.history))

    def shrink(self, found: _PointSet) -> _PointSet:
        """Leave out points as long as a thousandth of the negative eigenvalue stays: none of the rest can be missed."""
        floor = max(self.tolerance(found.matrix), 1e-3 * -found.least)
        while len(found.points) > 3 * self.size:  # the eighth of them with the least share in the eigenvector, together
            share = np.abs(np.linalg.eigh(found.matrix)[1][:, 0])
            less = _part(found, np.sort(np.argsort(share)[len(share) // 8 :]))
            if less.least > -floor:
                break
            found = less
        while len(found.points) > 1:
            n = len(found.points)
            kept = np.array([np.delete(np.arange(n), i) for i in range(n)])
            least = np.linalg.eigvalsh(found.matrix[kept[:, :, None], kept[:, None, :]])[:, 0]
            if least.min() > -floor:
                break
            found = _part(found, kept[least.argmin()])
        return found

    def simplify(self, found: _PointSet) -> _PointSet:
        """Numbers with as few decimals as keep half of the negative eigenvalue."""
        for decimals in range(5):
            short = [np.round(p, decimals) + 0.0 for p in found.points]
            less = self.measured([p if isinstance(p, np.ndarray) else float(p) for p in short])
            if self.is_negative(less) and less.least <= 0.5 * found.least:
                return less
        return found


def _part(found: _PointSet, kept: np.ndarray) -> _PointSet:
    matrix = found.matrix[np.ix_(kept, kept)]
    least = float(np.linalg.eigvalsh(matrix)[0]) if len(kept) else 0.0
    return _PointSet([found.points[i] for i in kept], matrix, least)
