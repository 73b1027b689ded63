"""Potentials with wells of chosen place, depth and Hessian in any dimension; their masses under Gibbs' distribution."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from leadline.chains import gibbs_law
from leadline.optimisation.objectives.objective import Objective


def _array(value: object) -> Array:
    return jnp.asarray(value, float)


class WellLandscape(Objective):
    """l(w) = −(1/κ) log Σ_k e^{−κ q_k(w)}, q_k(w) = E_k + ½(w − c_k)ᵀH_k(w − c_k): a soft minimum of k parabolas.

    Depths E, centres c, Hessians H, sharpness κ. l lies at most (log k)/κ below the least parabola, and far less inside
    a well. With H_k = h_k I give plain numbers h_k.

    >>> wells = WellLandscape(depths=[0.0, 0.1], centres=[[-2.0], [2.0]], hessians=[4.0, 1.0], sharpness=50.0)
    >>> wells.values(np.array([[-2.0], [2.0]])).round(6).tolist(), wells.basins(np.array([[-1.0], [1.0]])).tolist()
    ([0.0, 0.1], [0, 1])
    """

    depths: Float[Array, " k"]
    centres: Float[Array, "k p"]
    hessians: Float[Array, "k p p"]
    sharpness: Float[Array, ""]

    def __init__(self, depths, centres, hessians, sharpness: float = 100.0):
        self.depths, self.centres = _array(depths), _array(centres)
        if self.centres.ndim != 2 or len(self.centres) != len(self.depths):
            raise ValueError(
                f"WellLandscape got {self.depths.size} depths and centres of shape {self.centres.shape}; give one row "
                "a well."
            )
        k, p = self.centres.shape
        hessians = np.asarray(hessians, float)
        hessians = hessians[:, None, None] * np.eye(p) if hessians.ndim == 1 else hessians
        if hessians.shape != (k, p, p) or np.any(np.linalg.eigvalsh(hessians) <= 0):
            raise ValueError(f"WellLandscape needs {k} positive definite Hessians {p} × {p}; it got {hessians.shape}.")
        if not sharpness > 0:
            raise ValueError(f"sharpness = {sharpness} must be a positive number.")
        self.hessians, self.sharpness = jnp.asarray(hessians), _array(sharpness)

    def parabolas(self, w: Float[Array, " p"]) -> Float[Array, " k"]:
        """q_k(w)."""
        off = w - self.centres
        return self.depths + jnp.einsum("ki,kij,kj->k", off, self.hessians, off) / 2

    def __call__(self, w: Float[Array, " p"]) -> Float[Array, ""]:
        return -jax.nn.logsumexp(-self.sharpness * self.parabolas(w)) / self.sharpness

    def gradient(self, w: Float[Array, " p"]) -> Float[Array, " p"]:
        off = w - self.centres
        share = jax.nn.softmax(-self.sharpness * self.parabolas(w))
        return jnp.einsum("k,kij,kj->i", share, self.hessians, off)

    def _parabolas_at(self, points: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n k"]:
        depths, centres, hessians = (np.asarray(part) for part in (self.depths, self.centres, self.hessians))
        off = points[:, None] - centres
        return depths + np.einsum("nki,kij,nkj->nk", off, hessians, off, optimize=True) / 2

    def values(self, points: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """l at many points, without compilation."""
        q, kappa = self._parabolas_at(points), float(self.sharpness)
        low = q.min(axis=1, keepdims=True)
        return low[:, 0] - np.log(np.exp(-kappa * (q - low)).sum(axis=1)) / kappa

    def basins(self, points: Float[np.ndarray, "n p"]) -> Int[np.ndarray, " n"]:
        """Which parabola is the lowest at each of the points: the well it belongs to."""
        return self._parabolas_at(points).argmin(axis=1)


def basin_masses(
    values: Num[Array | np.ndarray, " n"], basins: Int[Array | np.ndarray, " n"], beta: float, count: int | None = None
) -> Float[np.ndarray, " k"]:
    """Σ of e^{−βl}/Z over the points of each basin, for the values of l on an even grid in any dimension.

    >>> basin_masses(np.array([0.0, 0.0, np.log(2.0)]), np.array([0, 0, 1]), 1.0).tolist()
    [0.8, 0.2]
    """
    basins = np.asarray(basins)
    if np.shape(values) != basins.shape:
        raise ValueError(f"{np.size(values)} values and {basins.size} basins do not match; give one basin a value.")
    return np.bincount(basins, weights=gibbs_law(np.asarray(values, float), beta), minlength=count or 0)


def laplace_masses(
    depths: Num[Array | np.ndarray, " k"], hessians: Num[Array | np.ndarray, "k p p"], beta: float
) -> Float[np.ndarray, " k"]:
    """The limit of the basin masses for large β: e^{−βE_k} det(H_k)^{−1/2}, normalised. Of equal depths the wide wins.

    >>> laplace_masses(np.zeros(2), np.array([np.eye(2), 4 * np.eye(2)]), 10.0).tolist()
    [0.8, 0.2]
    """
    signs, logs = np.linalg.slogdet(np.asarray(hessians, float))
    if np.any(signs <= 0):
        raise ValueError("A Hessian is not positive definite, so its well has no Laplace mass; give minima only.")
    return gibbs_law(beta * np.asarray(depths, float) + logs / 2, 1.0)
