"""What a Gram matrix costs in bytes and operations, and what to do where it is too much."""

from typing import Literal, NamedTuple

import numpy as np

from leadline._checks import require_counts


class GramCost(NamedTuple):
    """Of the Gram matrix of n points with d features, and of one step of a kernel method."""

    entries: int
    whole_bytes: int
    half_bytes: int  # the triangle with the diagonal: it is symmetric
    stored_step: int  # operations of one step with the matrix at hand: one column, O(n)
    computed_step: int  # operations of one step that computes its column, O(n d)


class MethodPlan(NamedTuple):
    """The method that fits into the memory, with its bytes and the operations of one step, and why."""

    method: Literal["exact", "features"]
    rank: int
    bytes: int
    step: int
    reason: str


def gram_cost_of(points: int, features: int, *, dtype: type | np.dtype = np.float64) -> GramCost:
    """n² entries, n² and n (n+1)/2 times the bytes of one; a step of a perceptron or of descent uses one column.

    A column at hand takes 2n operations (multiply and add), a column to be computed 2d + 2 more for each of the n.

    >>> gram_cost_of(10**6, 10).whole_bytes
    8000000000000
    """
    if min(points, features) < 1:
        raise ValueError(f"gram_cost_of got {points} points with {features} features; both must be positive.")
    size = np.dtype(dtype).itemsize
    half = points * (points + 1) // 2
    return GramCost(points**2, points**2 * size, half * size, 2 * points, points * (2 * features + 4))


def choose_method(points: int, features: int, memory: int, *, dtype: type | np.dtype = np.float64) -> MethodPlan:
    """The exact Gram matrix where it fits into `memory` bytes, else the most features per point that do.

    p features (random Fourier features, or Nyström with p landmarks) take n p numbers, and 2p operations a step.

    >>> choose_method(10**6, 10, 2**33).rank
    1073
    """
    require_counts("choose_method", points=points, features=features, memory=memory)
    cost, size = gram_cost_of(points, features, dtype=dtype), np.dtype(dtype).itemsize
    if cost.whole_bytes <= memory:
        return MethodPlan("exact", points, cost.whole_bytes, cost.stored_step, "the Gram matrix fits")
    rank = memory // (points * size)
    if rank < 1:
        raise MemoryError(
            f"{points} points do not fit into {_said(memory)} even with one feature each; give more memory, "
            "or train on a sample of the points."
        )
    reason = (
        f"the Gram matrix of {points} points takes {_said(cost.whole_bytes)}, more than {_said(memory)}; "
        f"{rank} random features or Nyström landmarks fit"
    )
    return MethodPlan("features", rank, rank * points * size, 2 * rank, reason)


def require_gram(points: int, memory: int, *, dtype: type | np.dtype = np.float64) -> int:
    """The bytes of the Gram matrix; MemoryError, with a number of features that fits, where they exceed `memory`.

    >>> require_gram(1000, 2**30)
    8000000
    """
    plan = choose_method(points, 1, memory, dtype=dtype)
    if plan.method != "exact":
        raise MemoryError(plan.reason[0].upper() + plan.reason[1:] + ".")
    return plan.bytes


def _said(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
