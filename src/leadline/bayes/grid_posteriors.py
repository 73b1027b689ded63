"""A posterior of one or two unknowns on a grid: normalised by quadrature, the ground truth for every sampler."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class GridPosterior(NamedTuple):
    """e^{−E}/Z at the nodes of a grid (ln), with ln Z = ln ∫e^{−E} and the axes of the grid."""

    axes: tuple[Float[np.ndarray, " _"], ...]
    log_density: Float[np.ndarray, "..."]
    log_evidence: float

    @property
    def weights(self) -> Float[np.ndarray, "..."]:
        """The probability of the cell around each node; they sum to 1."""
        return np.exp(self.log_density) * _cells(self.axes)

    @property
    def mean(self) -> Float[np.ndarray, " d"]:
        nodes, w = self._nodes()
        return w @ nodes

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        nodes, w = self._nodes()
        centred = nodes - w @ nodes
        return (centred * w[:, None]).T @ centred

    def edge_share(self) -> float:
        """The largest density at the edge over the largest of all: the grid is wide enough where this is tiny."""
        edges = [np.take(self.log_density, i, axis) for axis in range(len(self.axes)) for i in (0, -1)]
        return float(np.exp(max(edge.max() for edge in edges) - self.log_density.max()))

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, len(self.axes))
        return nodes, self.weights.ravel()


def grid_posterior(
    energy: Callable[[Float[np.ndarray, "nodes d"]], Float[np.ndarray, " nodes"]], *axes: Float[np.ndarray, " _"]
) -> GridPosterior:
    """p(θ|D) = e^{−E(θ)}/Z for E = −ln p(D|θ) − ln p(θ), by the trapezoidal rule on one or two evenly spaced axes.

    For smooth densities that have died out at the edges the rule converges faster than any power of the spacing.
    Everything is in logarithms: E may be of any size.

    >>> found = grid_posterior(lambda t: t[:, 0] ** 2 / 2 + 1000.0, np.linspace(-9.0, 9.0, 91))
    >>> round(found.log_evidence + 1000.0, 9), found.covariance.round(9).tolist()  # ln √(2π) and 1
    (0.918938533, [[1.0]])
    """
    if not 1 <= len(axes) <= 2:
        raise ValueError(
            f"grid_posterior got {len(axes)} axes; a grid serves one or two unknowns: use a sampler beyond."
        )
    axes = tuple(np.asarray(axis, float) for axis in axes)
    for axis in axes:
        gaps = np.diff(axis)
        if len(axis) < 3 or not np.allclose(gaps, gaps[0], rtol=1e-6) or gaps[0] <= 0:
            raise ValueError("An axis of the grid is not evenly spaced and rising; give np.linspace(low, high, nodes).")
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = -np.asarray(energy(nodes.reshape(-1, len(axes))), float).reshape(nodes.shape[:-1])
    top = values.max()
    if not np.isfinite(top):
        raise ValueError("The energy is nowhere finite on the grid; move its axes to where the posterior is.")
    log_z = float(top + np.log(np.sum(np.exp(values - top) * _cells(axes))))
    return GridPosterior(axes, values - log_z, log_z)


def _cells(axes: tuple[np.ndarray, ...]) -> np.ndarray:
    """The weights of the trapezoidal rule."""
    weights = np.ones(())
    for axis in axes:
        one = np.full(len(axis), axis[1] - axis[0])
        one[[0, -1]] /= 2
        weights = np.multiply.outer(weights, one)
    return weights
