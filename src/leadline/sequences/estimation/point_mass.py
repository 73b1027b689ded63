"""The exact posterior of a scalar state on a grid, for observation noise of any distribution."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Real

from .simulation import noise_called
from .state_space import LinearGaussian, as_observations


class GridPosterior(NamedTuple):
    """Densities of hₜ on a grid after each observation, with their means and variances."""

    grid: Float[Array, " n"]
    densities: Float[Array, "T n"]
    means: Float[Array, " T"]
    variances: Float[Array, " T"]
    log_likelihood: Float[Array, ""]


def point_mass_filter(
    model: LinearGaussian,
    xs: Real[Array | np.ndarray, "T ..."],
    grid: Real[Array | np.ndarray, " n"],
    *,
    noise: str | Callable[[Array], Array] = "gaussian",
) -> GridPosterior:
    """p(hₜ | x₁, …, xₜ) of a scalar model by the trapezoidal rule on an even grid (Bucy and Senne 1971).

    p(hₜ₊₁ | past) = ∫ N(hₜ₊₁; a h, Q) p(h | past) dh, times the density of xₜ₊₁ − c hₜ₊₁. `noise` is a name that
    `simulate` knows, or ln of a density of variance 1. For smooth densities the rule converges faster than any power
    of the spacing, once that is about half of the narrowest deviation; the grid must hold all of the mass.

    >>> from leadline.sequences import linear_gaussian
    >>> found = point_mass_filter(linear_gaussian(0.5, 1.0, 0.75, 1.0), np.array([2.0]), np.linspace(-9, 9, 91))
    >>> float(found.means[0].round(3)), float(found.variances[0].round(3))
    (1.0, 0.5)
    """
    if model.A.shape != (1, 1) or model.C.shape != (1, 1):
        raise ValueError(
            f"point_mass_filter got a state of {len(model.A)} and observations of {len(model.C)} numbers; give a "
            "scalar model."
        )
    gaps = np.ones(2) if isinstance(grid, Tracer) else np.diff(np.asarray(grid, float))
    if len(grid) < 3 or gaps[0] <= 0 or np.abs(gaps - gaps[0]).max() > 1e-3 * gaps[0]:
        raise ValueError("point_mass_filter got a grid that is not even and rising; give one such as linspace makes.")
    if not isinstance(model.Q, Tracer) and min(np.asarray(model.Q).item(), np.asarray(model.R).item()) <= 0:
        raise ValueError("point_mass_filter got Q or R of 0, whose densities no grid holds; give both above 0.")
    log_density = noise_called("point_mass_filter", noise).log_density if isinstance(noise, str) else noise
    return _filtered(
        model, as_observations("point_mass_filter", model, xs), jnp.asarray(grid, model.A.dtype), log_density
    )


def _normal(z: Float[Array, "..."], variance: Float[Array, ""]) -> Float[Array, "..."]:
    return jnp.exp(-0.5 * z**2 / variance) / jnp.sqrt(2 * jnp.pi * variance)


@functools.partial(jax.jit, static_argnums=3)
def _filtered(
    model: LinearGaussian, xs: Float[Array, "T 1"], grid: Float[Array, " n"], log_density: Callable
) -> GridPosterior:
    (a,), (c,), (Q,), (R,) = model.A[0], model.C[0], model.Q[0], model.R[0]
    spacing = grid[1] - grid[0]
    kernel = _normal(grid[:, None] - a * grid, Q) * spacing
    mean, variance = a * model.mean[0], a**2 * model.covariance[0, 0] + Q
    first = _normal(grid - mean, variance)

    def step(predicted: Array, x: Array) -> tuple[Array, tuple[Array, Array]]:
        likelihood = jnp.exp(log_density((x - c * grid) / jnp.sqrt(R))) / jnp.sqrt(R)
        joint = jnp.where(jnp.isnan(x), predicted, likelihood * predicted)
        evidence = joint.sum() * spacing
        posterior = joint / evidence
        return kernel @ posterior, (posterior, jnp.log(evidence))

    _, (densities, log_evidence) = jax.lax.scan(step, first, xs[:, 0])
    means = densities @ grid * spacing
    variances = ((grid - means[:, None]) ** 2 * densities).sum(1) * spacing
    return GridPosterior(grid, densities, means, variances, log_evidence.sum())
