"""The density of an operator's eigenvalues by stochastic Lanczos quadrature, with a band from the scatter of probes."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..operators.symmetric_map import AnyKey, SymmetricMap, check_count, random_signs
from .lanczos_quadrature import spectral_quadrature

_REACH = 6.0  # widths beyond the outermost nodes: the Gaussians lose 1e-9 of their mass there


class SpectralDensity(NamedTuple):
    """The density of eigenvalues, smoothed by Gaussians of deviation `width`, on a grid where it integrates to 1.

    `low` and `high` bound the mean over probes with 95% confidence at each point. `nodes` and `weights` are the
    quadrature of every probe: the estimated fraction of eigenvalues at `nodes[k, j]` is `weights[k, j]`.
    """

    grid: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]
    high: Float[np.ndarray, " points"]
    nodes: Float[np.ndarray, "probes steps"]
    weights: Float[np.ndarray, "probes steps"]
    width: float

    @property
    def total(self) -> float:
        """The integral of the density over its own grid, 1 but for rounding."""
        return float(np.trapezoid(self.density, self.grid))

    def mass(self, low: float, high: float) -> tuple[float, float]:
        """The fraction of eigenvalues in [low, high] by the unsmoothed quadrature, and its standard error."""
        inside = np.sum(self.weights * ((self.nodes >= low) & (self.nodes <= high)), axis=1)
        return float(inside.mean()), float(inside.std(ddof=1) / math.sqrt(len(inside)))

    def moment(self, power: int) -> tuple[float, float]:
        """tr A^power / p and its standard error; no error from Lanczos for power < 2·steps."""
        each = np.sum(self.weights * self.nodes**power, axis=1)
        return float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each)))


def density(
    operator: SymmetricMap,
    *,
    key: AnyKey,
    probes: int = 10,
    num_steps: int = 80,
    points: int = 1000,
    width: float | None = None,
) -> SpectralDensity:
    """φ(t) = (1/p) Σᵢ N(t; λᵢ, width²) from `probes`·`num_steps` products (Lin, Saad, Yang 2016; Ghorbani et al. 2019).

    Each random vector v gives a Gauss quadrature of the measure Σᵢ (vᵀuᵢ)² δ_{λᵢ}/‖v‖², whose mean over v is
    (1/p) Σᵢ δ_{λᵢ}. `width` is 1% of the range of the nodes if not given. The band covers the scatter over probes only:
    eigenvalues closer together than Lanczos resolves in `num_steps` products appear as fewer atoms with their joint
    mass.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from leadline.curvature import hessian
    >>> h = hessian(lambda w: jnp.sum(w**2) / 2, jnp.ones(50))
    >>> found = density(h, key=jax.random.key(0), probes=3, num_steps=5)
    >>> round(found.total, 3), found.mass(0.99, 1.01)  # the identity: all mass at 1
    (1.0, (1.0, 0.0))
    """
    check_count("probes", probes, 2, "the band is the scatter over probes")
    check_count("num_steps", num_steps, 1, "each is one product of Lanczos' method")
    if width is not None and not 0 < width < math.inf:
        raise ValueError(f"width is {width}; give a positive deviation for the Gaussians, or None for 1% of the range.")
    nodes, weights = spectral_quadrature(operator, random_signs(key, operator, probes), num_steps)
    first, last = float(nodes.min()), float(nodes.max())
    rounding = 1e-6 * max(abs(first), abs(last))
    if width is None:
        width = 0.01 * (last - first) if last - first > rounding else 0.01 * (max(abs(first), abs(last)) or 1.0)
    needed = math.ceil((last - first + 2 * _REACH * width) / width) + 1
    if points < needed:
        raise ValueError(f"A grid of {points} points is coarser than the width {width:.3g}; give points ≥ {needed}.")
    grid = np.linspace(first - _REACH * width, last + _REACH * width, points)
    each = np.stack([_smoothed(grid, n, w, width) for n, w in zip(nodes, weights, strict=True)])  # (probes, points)
    mean, error = each.mean(axis=0), each.std(axis=0, ddof=1) / math.sqrt(probes)
    reach = _student(probes - 1) * error
    return SpectralDensity(grid, mean, np.maximum(mean - reach, 0.0), mean + reach, nodes, weights, width)


def _smoothed(grid: np.ndarray, nodes: np.ndarray, weights: np.ndarray, width: float) -> np.ndarray:
    bells = np.exp(-0.5 * ((grid[:, None] - nodes) / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return bells @ weights


def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))
