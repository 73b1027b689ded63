"""The Bayesian infinitely wide network: its posterior from NNGP matrices, to set beside what training gives."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .matrices import checked_kernel, checked_shape, decompose
from .training import Matrix, Outputs


class WidePosterior(NamedTuple):
    """Mean (m, ...) and covariance (m, m) of the outputs at m points given the data, each output by itself."""

    mean: Float[Array, "m ..."]
    covariance: Float[Array, "m m"]


def nngp_posterior(
    nngp: Matrix, targets: Outputs, cross: Matrix, points: Matrix, *, noise: float = 0.0, tolerance: float | None = None
) -> WidePosterior:
    """Mean k (K + s²I)⁻¹ y and covariance K(x, x) - k (K + s²I)⁻¹ kᵀ, with k = K(x, X) and s = `noise`.

    The posterior of an infinitely wide network of random weights whose outputs are seen with noise of standard
    deviation s (Neal 1996). Without noise a singular K is inverted on its range. Training the last layer alone by
    gradient flow has this distribution at t = ∞; training all layers does not (`WidePrediction`).

    >>> law = nngp_posterior(jnp.eye(1), jnp.array([2.0]), jnp.array([[0.5]]), jnp.eye(1), noise=1.0)
    >>> law.mean.tolist(), law.covariance.tolist()
    ([0.5], [[0.875]])
    """
    nngp = checked_kernel(nngp, "nngp")
    n, dtype = len(nngp), nngp.dtype
    if not (math.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise = {noise} is not a standard deviation; give a finite number of at least 0.")
    targets = jnp.asarray(checked_shape(targets, "targets", n), dtype)
    cross = jnp.asarray(checked_shape(cross, "cross", None, n), dtype)
    points = jnp.asarray(checked_shape(points, "points", len(cross), len(cross)), dtype)
    if noise == 0:
        return WidePosterior(*_condition(*decompose(nngp, "nngp", tolerance), targets, cross, points))
    shifted = nngp + noise**2 * jnp.eye(n, dtype=dtype)
    return WidePosterior(*_condition(*decompose(shifted, "nngp + noise² I", tolerance), targets, cross, points))


@jax.jit
def _condition(lam: Array, U: Array, targets: Array, cross: Array, points: Array) -> tuple[Array, Array]:
    inverse = jnp.where(lam > 0, 1 / jnp.where(lam > 0, lam, 1.0), 0.0)
    half = cross @ U
    weights = (half * inverse) @ U.T
    return jnp.tensordot(weights, targets, 1), points - (half * inverse) @ half.T
