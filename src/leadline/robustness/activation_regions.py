"""The exact distance of an input to the decision boundary of a small ReLU network, region by region."""

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

Matrices = Sequence[Float[Array | np.ndarray, "_ _"]]
Vectors = Sequence[Float[Array | np.ndarray, " _"]]


class ExactRadius(NamedTuple):
    """The Euclidean distance to the nearest input of another class, that input, and the regions looked at."""

    radius: float
    nearest: Float[np.ndarray, " d"] | None
    regions: int


def exact_radius(
    weights: Matrices, biases: Vectors, x: Float[Array | np.ndarray, " d"], label: int | None = None, most: int = 20_000
) -> ExactRadius:
    """min ‖z - x‖₂ over inputs z that a ReLU network gives another class than `label` (by default that of x).

    The network is affine in each region of one activation pattern, a polyhedron {Gz ≥ h}: the nearest point of it
    where a class k is at least as high as the label is a quadratic programme, here least-distance programming by
    nonnegative least squares (Lawson and Hanson 1974, chapter 23). Regions are visited from the nearest on, each
    reached by flipping one unit of its neighbour, until the next is farther than what was found: exact, and for a few
    dozen units quick. Infinite radius where no other class exists anywhere; ValueError after `most` regions.

    >>> layers = [np.eye(2), np.eye(2)]
    >>> round(exact_radius(layers, [np.zeros(2), np.zeros(2)], np.array([2.0, 1.0])).radius, 6)
    0.707107
    """
    weights = [np.asarray(w, np.float64) for w in weights]
    biases = [np.asarray(b, np.float64) for b in biases]
    x = np.asarray(x, np.float64)
    if len(weights) != len(biases) or weights[0].shape[1] != len(x):
        raise ValueError(f"Got {len(weights)} weights, {len(biases)} biases and an input of {len(x)}; they must fit.")
    label = int(_scores(weights, biases, x).argmax()) if label is None else label
    if _scores(weights, biases, x).argmax() != label:
        return ExactRadius(0.0, x, 1)
    first = _pattern(weights, biases, x)
    queue, seen = [(0.0, 0, first)], {first}
    best, nearest, visited = math.inf, None, 0
    while queue and queue[0][0] < best:
        _, _, pattern = heapq.heappop(queue)
        visited += 1
        if visited > most:
            raise ValueError(
                f"More than {most} activation regions are nearer than the boundary; use a smaller network."
            )
        rows, limits, slope, offset = _region(weights, biases, pattern)
        for k in range(len(offset)):
            if k != label:
                beyond = np.vstack([rows, slope[k] - slope[label]]), np.append(limits, offset[label] - offset[k])
                z = nearest_point(x, *beyond)
                if z is not None and np.linalg.norm(z - x) < best:
                    best, nearest = float(np.linalg.norm(z - x)), z
        for unit in range(len(pattern)):
            other = (*pattern[:unit], not pattern[unit], *pattern[unit + 1 :])
            if other not in seen:
                seen.add(other)
                rows, limits, _, _ = _region(weights, biases, other)
                z = nearest_point(x, rows, limits)
                if z is not None and np.linalg.norm(z - x) < best:
                    heapq.heappush(queue, (float(np.linalg.norm(z - x)), len(seen), other))
    return ExactRadius(best, nearest, visited)


def nearest_point(
    x: Float[np.ndarray, " d"], rows: Float[np.ndarray, "m d"], limits: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " d"] | None:
    """The point of {z: rows z ≥ limits} nearest to x, or None where there is none.

    >>> nearest_point(np.zeros(2), np.array([[1.0, 0.0]]), np.array([2.0])).round(9).tolist()
    [2.0, 0.0]
    """
    from scipy.optimize import nnls

    lengths = np.linalg.norm(rows, axis=1)
    flat = lengths == 0
    if np.any(limits[flat] > 0):
        return None
    rows, limits = rows[~flat] / lengths[~flat, None], limits[~flat] / lengths[~flat]
    shifted = limits - rows @ x
    if np.all(shifted <= 0):
        return x
    matrix = np.vstack([rows.T, shifted])
    target = np.zeros(len(x) + 1)
    target[-1] = 1.0
    dual, _ = nnls(matrix, target, maxiter=50 * matrix.shape[1])
    residual = matrix @ dual - target
    if -residual[-1] < 1e-12:  # the distance would exceed 10⁶: empty, up to rounding
        return None
    z = x - residual[:-1] / residual[-1]
    return z if np.all(rows @ z >= limits - 1e-7 * (1 + np.abs(limits))) else None


def _scores(weights: list[np.ndarray], biases: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        x = np.maximum(w @ x + b, 0)
    return weights[-1] @ x + biases[-1]


def _pattern(weights: list[np.ndarray], biases: list[np.ndarray], x: np.ndarray) -> tuple[bool, ...]:
    on: list[bool] = []
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        z = w @ x + b
        on += (z > 0).tolist()
        x = np.maximum(z, 0)
    return tuple(on)


def _region(weights: list[np.ndarray], biases: list[np.ndarray], pattern: tuple[bool, ...]) -> tuple:
    """{z: rows z ≥ limits} with this activation pattern, and the scores slope z + offset in it."""
    slope, offset = np.eye(weights[0].shape[1]), np.zeros(weights[0].shape[1])
    rows, limits, start = [], [], 0
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        slope, offset = w @ slope, w @ offset + b
        on = np.array(pattern[start : start + len(b)])
        sign = np.where(on, 1.0, -1.0)
        rows.append(sign[:, None] * slope)
        limits.append(-sign * offset)
        slope, offset = on[:, None] * slope, on * offset
        start += len(b)
    slope, offset = weights[-1] @ slope, weights[-1] @ offset + biases[-1]
    empty = np.zeros((0, slope.shape[1]))
    return np.vstack([empty, *rows]), np.concatenate([np.zeros(0), *limits]), slope, offset
