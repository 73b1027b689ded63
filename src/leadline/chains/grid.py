"""Exact transition matrices of one-dimensional descents on a grid: space is cut into points, nothing is sampled."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse import csr_array

from .finite import FiniteChain, Law

Points = Float[np.ndarray, " n"]
Function = Callable[[Float[Array, "1"]], Float[Array, "..."]]

_MOST_BATCHES = 20_000


@dataclass(frozen=True, eq=False)
class GridKernel:
    """A chain on grid points. `leaked`: the mass of each row that would have left the grid and was kept at its ends."""

    points: Points
    chain: FiniteChain
    leaked: Points

    def nearest(self, w: float) -> int:
        """The state whose point is nearest to w."""
        return int(np.argmin(np.abs(self.points - w)))

    def start(self, w: float) -> Law:
        """The law that sits at w: its mass split between the two neighbouring points, so that its mean is w."""
        place, share = _split(np.array([w]), self.points)
        law = np.zeros(len(self.points))
        np.add.at(law, np.stack([place[0], place[0] + 1]), np.array([1 - share[0], share[0]]))
        return law

    def leak(self, law: Law) -> float:
        """The mass that a law loses over the ends of the grid in one step: what the grid is wrong by."""
        return float(law @ self.leaked)


def even_grid(low: float, high: float, points: int) -> Points:
    """Evenly spaced points; the spacing is (high − low)/(points − 1)."""
    if not low < high or points < 3:
        raise ValueError(f"A grid of {points} points from {low:g} to {high:g} is none; give low < high and 3 points.")
    return np.linspace(low, high, points)


def on_grid(function: Function, points: Points) -> Float[np.ndarray, "n ..."]:
    """A function of one vector of length 1, at every point: `on_grid(objective, points)`, `on_grid(l.gradient, …)`."""
    return np.asarray(jax.vmap(function)(jnp.asarray(points[:, None])), float)


def gaussian_kernel(points: Points, means: Points, deviation: float | Points) -> GridKernel:
    """Rows N(mean_i, deviation²) on the grid: densities at the points, normalised. Means beyond the ends are clipped.

    On an even grid the sum over points is exact to 2 exp(−2π² (deviation/spacing)²), so the deviation must not be
    smaller than the spacing.

    >>> kernel = gaussian_kernel(even_grid(-5.0, 5.0, 101), np.zeros(101), 1.0)
    >>> law = kernel.chain.propagate(50)
    >>> round(float(law @ kernel.points**2), 4), bool(kernel.leak(law) < 1e-5)
    (1.0, True)
    """
    from scipy.special import ndtr

    spacing, deviation = points[1] - points[0], np.broadcast_to(np.asarray(deviation, float), points.shape)
    if deviation.min() < spacing:
        raise ValueError(
            f"The grid is too coarse: the noise per step has deviation {deviation.min():.3g}, the points are "
            f"{spacing:.3g} apart; give at least {int(np.ceil((points[-1] - points[0]) / deviation.min())) + 1} points."
        )
    inside = np.clip(means, points[0], points[-1])
    rows = np.exp(-(((points - inside[:, None]) / deviation[:, None]) ** 2) / 2)
    rows /= rows.sum(axis=1, keepdims=True)
    half = spacing / 2
    leaked = ndtr((points[0] - half - means) / deviation) + ndtr(-(points[-1] + half - means) / deviation)
    return GridKernel(points, FiniteChain(rows), leaked)


def splitting_kernel(points: Points, images: Float[np.ndarray, "n k"], weights: Float[np.ndarray, " k"]) -> GridKernel:
    """From point i to image_ik with weight_k, its mass split linearly between the two points around it; sparse.

    The splitting keeps the mean of each row and adds at most spacing²/4 to its variance. Images outside are clipped.

    >>> kernel = splitting_kernel(np.array([0.0, 1.0, 2.0]), np.array([[0.5], [0.5], [3.0]]), np.ones(1))
    >>> kernel.chain.dense.tolist(), kernel.leaked.tolist()
    ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 1.0])
    """
    n, k = images.shape
    place, share = _split(images.ravel(), points)
    mass = np.tile(weights, n)
    row = np.repeat(np.arange(n), k)
    entries = np.concatenate([mass * (1 - share), mass * share])
    columns = np.concatenate([place, place + 1])
    matrix = csr_array((entries, (np.concatenate([row, row]), columns)), shape=(n, n))
    matrix.eliminate_zeros()
    outside = (images < points[0]) | (images > points[-1])
    return GridKernel(points, FiniteChain(matrix), outside @ weights)


def sgd_kernel(
    gradients: Float[np.ndarray, "n samples"], points: Points, *, step_size: float, batch: int = 1
) -> GridKernel:
    """The exact kernel of SGD in one dimension: w → w − η (1/b) Σ g_{i_k}(w), indices uniform with replacement.

    `gradients[j, i]` is g_i at point j (`on_grid(problem.gradients, points)[..., 0]` of a FiniteSum). For b > 1 all
    multisets of b samples are listed with their probabilities; samples with the same gradients everywhere count once.

    >>> points = even_grid(-1.0, 1.0, 5)
    >>> kernel = sgd_kernel(np.stack([points - 1, points + 1], axis=1), points, step_size=0.5)
    >>> kernel.chain.dense[2].tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    """
    kinds, counts = np.unique(gradients, axis=1, return_counts=True)
    share = counts / gradients.shape[1]
    many = factorial(len(share) + batch - 1) // factorial(batch) // factorial(len(share) - 1)
    if many > _MOST_BATCHES:
        raise ValueError(
            f"{len(share)} samples have {many} batches of {batch}, more than {_MOST_BATCHES}; give a smaller batch."
        )
    multisets = [np.bincount(m, minlength=len(share)) for m in combinations_with_replacement(range(len(share)), batch)]
    ways = [factorial(batch) // prod(map(factorial, map(int, m))) for m in multisets]
    weights = np.array([w * np.prod(share**m) for w, m in zip(ways, multisets, strict=True)])
    means = kinds @ (np.array(multisets).T / batch)
    return splitting_kernel(points, points[:, None] - step_size * means, weights / weights.sum())


def _split(w: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The grid cell of each w (clipped to the grid) and how far into the cell it lies, from 0 to 1."""
    spacing = points[1] - points[0]
    position = np.clip((w - points[0]) / spacing, 0.0, len(points) - 1.0)
    place = np.minimum(position.astype(int), len(points) - 2)
    return place, position - place
