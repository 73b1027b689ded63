"""General position: is every set of at most d points linearly independent?"""

from itertools import combinations, islice
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, PRNGKeyArray, Real

from leadline.data.randomness import generator

from .labelings import unit_points, with_bias

CHUNK = 50_000  # subsets decomposed at once: a few tens of megabytes


class GeneralPosition(NamedTuple):
    """What `general_position` found. With `exhaustive` False, `holds` means only "not refuted by the sample"."""

    holds: bool
    smallest: float  # smallest singular value over the subsets examined, of points scaled to length 1
    subset: tuple[int, ...]  # the points in a dependency; if there is none, the subset that is nearest to one
    exhaustive: bool
    examined: int  # number of subsets
    notice: str  # empty, or what a sample cannot show


def general_position(
    x: Real[Array | np.ndarray, "n d"],
    *,
    bias: bool = False,
    tolerance: float = 1e-10,
    limit: int = 1_000_000,
    samples: int = 20_000,
    key: PRNGKeyArray | None = None,
) -> GeneralPosition:
    """Check that every subset of at most d rows of x is linearly independent ((x, 1) and d + 1 with `bias`).

    Takes the smallest singular value over all subsets of min(n, d) points, each scaled to length 1 since only its
    direction matters; below `tolerance` the subset counts as dependent. All subsets are examined when there are at most
    `limit`; otherwise `samples` random ones are, drawn with `key`, which can refute general position but not prove it.

    >>> import numpy as np
    >>> points = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, 0]])
    >>> found = general_position(points)
    >>> found.holds, found.subset
    (False, (0, 1, 3))
    """
    points = unit_points(with_bias(x, bias))
    n, d = points.shape
    size = min(n, d)
    total = comb(n, size)
    exhaustive = total <= limit
    if not exhaustive and key is None:
        raise ValueError(
            f"{n} points in R^{d} have {total} subsets of {size}, more than limit = {limit}; pass key= to examine a "
            "random sample of them, or raise the limit."
        )
    chunks = _all_subsets(n, size) if exhaustive else _random_subsets(n, size, samples, key)
    worst = (size + 1, np.inf, ())
    examined = 0
    for subsets in chunks:
        examined += len(subsets)
        values = np.linalg.svd(points[subsets], compute_uv=False)  # (subsets, size), descending
        # The subset of lowest rank names the whole dependency: three points on a line, not two of them and a bystander.
        rank = (values > tolerance).sum(axis=1)
        first = np.lexsort((values[:, -1], rank))[0]
        worst = min(worst, (int(rank[first]), float(values[first, -1]), tuple(subsets[first].tolist())))
    rank, smallest, subset = worst
    holds = rank == size
    if not holds:
        left, _, _ = np.linalg.svd(points[list(subset)])
        takes_part = np.linalg.norm(left[:, rank:], axis=1) > 1e-6  # support of the vectors c with Σ cᵢ xᵢ = 0
        subset = tuple(i for i, part in zip(subset, takes_part, strict=True) if part)
    notice = (
        ""
        if exhaustive or not holds
        else (
            f"{examined} random subsets of {total} were examined: a sample can refute general position, not prove it."
        )
    )
    return GeneralPosition(holds, smallest, subset, exhaustive, examined, notice)


def _all_subsets(n: int, size: int):
    subsets = combinations(range(n), size)
    while chunk := list(islice(subsets, CHUNK)):
        yield np.array(chunk)


def _random_subsets(n: int, size: int, samples: int, key):
    rng = generator(key)
    rows = max(1, min(CHUNK, 5_000_000 // n))
    for start in range(0, samples, rows):
        draws = rng.random((min(rows, samples - start), n))
        yield np.sort(np.argpartition(draws, size - 1, axis=1)[:, :size], axis=1)
