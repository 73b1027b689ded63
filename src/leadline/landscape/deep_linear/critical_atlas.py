"""The atlas of a two-layer linear network: every family of critical points with its loss, its inertia and a way out."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import comb
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .linear_problem import LinearProblem

MOST_LISTED = 1_000_000


class Escape(NamedTuple):
    """A way down from a saddle: the unit that carries u_i (None: a zero unit) turns towards the missing u_j.

    `curvature` is the second derivative of the loss along `CriticalFamily.escape_curve`: −(λ_j − λ_i)/n for a turn,
    −2λ_j/n for a unit that is switched on.
    """

    leaves: int | None
    towards: int
    curvature: float

    def __str__(self) -> str:
        start = "a zero unit" if self.leaves is None else f"u{self.leaves + 1}"
        return f"{start} → u{self.towards + 1}"


@dataclass(frozen=True, eq=False)
class CriticalFamily:
    """All critical points (A, B) with the product U_I U_Iᵀ L*, I = `indices` (from 0), with p = `hidden` units.

    `index`, `nullity`: numbers of negative and of zero Hessian eigenvalues where p − |I| units are zero.
    """

    problem: LinearProblem
    hidden: int
    indices: tuple[int, ...]
    level: float
    index: int
    nullity: int
    escape: Escape | None

    @property
    def product(self) -> Float[np.ndarray, "d_y d_x"]:
        return self.problem.critical_map(self.indices)

    def factors(
        self, mixing: Float[np.ndarray, "r r"] | None = None
    ) -> tuple[Float[np.ndarray, "d_y p"], Float[np.ndarray, "p d_x"]]:
        """A = U_I C, B = C⁻¹ U_Iᵀ L*, C = `mixing` (the identity unless given), and p − |I| zero units."""
        return self._padded(self.problem.eigenvectors[:, list(self.indices)], mixing)

    def escape_curve(self, t: float) -> tuple[Float[np.ndarray, "d_y p"], Float[np.ndarray, "p d_x"]]:
        """The factors t along the escape: u_i cos t + u_j sin t in place of u_i, or the zero unit (t u_j, t u_jᵀ L*).

        The loss is level − (λ_j − λ_i) sin²t/(2n), or level − λ_j (2t² − t⁴)/(2n): exactly, for every t.
        """
        if self.escape is None:
            raise ValueError(f"The family {self.indices} is the global minimum; choose one with an escape.")
        i, j, _ = self.escape
        u = self.problem.eigenvectors
        if i is None:
            a, b = self.factors()
            a[:, -1], b[-1] = t * u[:, j], t * (u[:, j] @ self.problem.best_map)
            return a, b
        turned = u[:, list(self.indices)]
        turned[:, self.indices.index(i)] = np.cos(t) * u[:, i] + np.sin(t) * u[:, j]
        return self._padded(turned, None)

    def _padded(self, basis: np.ndarray, mixing: Any) -> tuple[np.ndarray, np.ndarray]:
        size = len(self.indices)
        a, b = np.zeros((self.problem.outputs, self.hidden)), np.zeros((self.hidden, self.problem.inputs))
        mixing = np.eye(size) if mixing is None else mixing
        a[:, :size] = basis @ mixing
        b[:size] = np.linalg.solve(mixing, basis.T @ self.problem.best_map)
        return a, b


def atlas(problem: LinearProblem, hidden: int, most: int | None = None) -> list[CriticalFamily]:
    """Every family of critical points of l(A, B) with p = `hidden` units, or the `most` lowest ones; lowest first.

    For Σ of rank d with distinct positive eigenvalues the critical products are U_I U_Iᵀ L*, |I| = r ≤ p (Baldi and
    Hornik 1989). With r units on and p − r zero, the Hessian has #{(i ∈ I, j ∉ I): λ_j > λ_i} + (p − r)(d − r)
    negative eigenvalues and r² + (p − r)(2r + d_x + d_y − 2d) zero ones. The lowest are found without listing all.

    >>> import jax
    >>> from leadline.landscape.deep_linear import random_problem
    >>> problem = random_problem(4, 4, 20, key=jax.random.key(0), spectrum=(4.0, 3.0, 2.0, 1.0))
    >>> [(f.indices, f.index) for f in atlas(problem, 2, most=4)]
    [((0, 1), 0), ((0, 2), 1), ((1, 2), 2), ((0, 3), 2)]
    >>> str(atlas(problem, 2)[-1].escape), len(atlas(problem, 2))
    ('a zero unit → u1', 11)
    """
    if hidden < 1 or (most is not None and most < 1):
        raise ValueError(f"atlas got {hidden} hidden units and most={most}; give at least 1 of each.")
    rank = sigma_rank(problem)
    total = count_families(rank, hidden)
    if most is None and total > MOST_LISTED:
        raise ValueError(f"There are {total} families of critical points; ask atlas for the lowest with most=50, say.")
    values = problem.eigenvalues[:rank]
    return [_family(problem, hidden, rank, chosen) for chosen in islice(_by_level(values, min(hidden, rank)), most)]


def critical_family(problem: LinearProblem, hidden: int, indices: Iterable[int]) -> CriticalFamily:
    """The family of one index set I (from 0), |I| ≤ `hidden`."""
    chosen, rank = tuple(sorted(int(i) for i in indices)), sigma_rank(problem)
    if len(chosen) > hidden or len(set(chosen)) < len(chosen) or not all(0 <= i < rank for i in chosen):
        raise ValueError(f"There is no family {chosen}; give at most {hidden} distinct indices from 0 to {rank - 1}.")
    return _family(problem, hidden, rank, chosen)


def count_families(rank: int, hidden: int) -> int:
    """Σ_{r≤p} C(d, r): the families of critical points for d distinct positive eigenvalues and p hidden units.

    >>> count_families(4, 2)
    11
    """
    if rank < 0 or hidden < 0:
        raise ValueError(f"count_families got rank {rank} and {hidden} hidden units; neither can be negative.")
    return sum(comb(rank, r) for r in range(min(rank, hidden) + 1))


def sigma_rank(problem: LinearProblem) -> int:
    """The number of eigenvalues of Σ above rounding, relative to the largest."""
    values = problem.eigenvalues
    return int(np.sum(values > 1e-12 * len(values) * max(values[0], 1e-300)))


def atlas_columns(families: Sequence[CriticalFamily]) -> dict[str, np.ndarray]:
    """What a table or a figure of an atlas shows, a row a family: set, size, level, index, nullity, escape, curvature.

    Sets and escapes are words that count from 1, as in the literature: "1 3", "u3 → u2".
    """
    return {
        "set": np.array([" ".join(str(i + 1) for i in f.indices) or "∅" for f in families]),
        "size": np.array([len(f.indices) for f in families]),
        "level": np.array([f.level for f in families]),
        "index": np.array([f.index for f in families]),
        "nullity": np.array([f.nullity for f in families]),
        "escape": np.array(["none: global minimum" if f.escape is None else str(f.escape) for f in families]),
        "curvature": np.array([0.0 if f.escape is None else f.escape.curvature for f in families]),
    }


def nearest_family(
    families: Sequence[CriticalFamily], product: Float[np.ndarray, "d_y d_x"]
) -> tuple[CriticalFamily, float]:
    """The family whose product is nearest to W, and the distance ‖(W − W_I)X‖/‖L*X‖.

    The overlaps of W with the u_i are computed once, so that many families cost little.
    """
    if not families:
        raise ValueError("nearest_family got no families; make them with atlas.")
    problem = families[0].problem
    u = problem.eigenvectors
    overlaps = np.sum((u.T @ product @ problem.sigma_xx) * (u.T @ problem.best_map), axis=1)  # ⟨W, u uᵀ L*⟩
    square = float(np.sum((product @ problem.sigma_xx) * product))
    gains = problem.eigenvalues - 2 * overlaps
    distances = np.array([square + gains[list(f.indices)].sum() for f in families])
    best = int(np.argmin(distances))
    return families[best], float(np.sqrt(max(distances[best], 0.0) / problem.eigenvalues.sum()))


def hessian_inertia(hessian: Float[np.ndarray, "m m"], tolerance: float = 1e-9) -> tuple[int, int, int]:
    """(n₋, n₀, n₊): eigenvalues below, within and above ± `tolerance` times the largest in magnitude."""
    values = np.linalg.eigvalsh(hessian)
    scale = tolerance * np.abs(values).max(initial=0.0)
    negative, positive = int(np.sum(values < -scale)), int(np.sum(values > scale))
    return negative, values.size - negative - positive, positive


def _family(problem: LinearProblem, p: int, d: int, chosen: tuple[int, ...]) -> CriticalFamily:
    r, values = len(chosen), problem.eigenvalues
    missing = [j for j in range(d) if j not in chosen]
    swaps = sum(1 for i in chosen for j in missing if values[j] > values[i])
    index = swaps + (p - r) * (d - r)
    nullity = r**2 + (p - r) * (2 * r + problem.inputs + problem.outputs - 2 * d)
    escape = None
    if r < p and missing:
        escape = Escape(None, missing[0], -2 * float(values[missing[0]]) / problem.samples)
    elif swaps:
        i, j = max(chosen), missing[0]
        escape = Escape(i, j, -float(values[j] - values[i]) / problem.samples)
    return CriticalFamily(problem, p, chosen, problem.level(chosen), index, nullity, escape)


def _by_level(values: np.ndarray, size: int) -> Iterator[tuple[int, ...]]:
    """Index sets of at most `size` members by descending Σ λ_i; the index d = len(values) stands for no member.

    Raising one member of a set by one never raises the sum, and leads from {0, ..., p−1} to every other set.
    """
    d, gains = len(values), np.append(values, 0.0)
    first = tuple(range(size))
    heap, seen = [(-float(gains[list(first)].sum()), first)], {first}
    while heap:
        _, chosen = heapq.heappop(heap)
        yield tuple(i for i in chosen if i < d)
        for k, i in enumerate(chosen):
            limit = chosen[k + 1] if k + 1 < size else d + 1
            if i < d and (i + 1 < limit or i + 1 == d):
                other = (*chosen[:k], i + 1, *chosen[k + 1 :])
                if other not in seen:
                    seen.add(other)
                    heapq.heappush(heap, (-float(gains[list(other)].sum()), other))
