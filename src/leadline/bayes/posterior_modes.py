"""The most probable parameters: the minimum of the energy E = −ln p(D|θ) − ln p(θ), and the curvature there."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Num


class PosteriorMode(NamedTuple):
    """θ_MAP, E there, and the Hessian of E, whose inverse is the covariance of Laplace's approximation."""

    theta: Float[np.ndarray, " d"]
    energy: float
    hessian: Float[np.ndarray, "d d"]

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        inverse = np.linalg.inv(self.hessian)
        return (inverse + inverse.T) / 2


def map_estimate(
    energy: Callable[..., Float[Array, ""]],
    start: Float[Array | np.ndarray, " d"],
    *args: Num[Array | np.ndarray, "..."] | float,
) -> PosteriorMode:
    """argmin E(θ, *args), E = −ln likelihood − ln prior up to a constant: no normaliser is needed.

    Newton's method in a trust region (SciPy's `trust-exact`) with derivatives by JAX; it ends at a local minimum.

    >>> energy = lambda t, y: jax.numpy.sum((t - y) ** 2 + t**2) / 2
    >>> mode = map_estimate(energy, np.zeros(1), np.ones(1))
    >>> mode.theta.round(6).tolist(), mode.hessian.round(6).tolist()
    ([0.5], [[2.0]])
    """
    from scipy.optimize import minimize

    parts = _compiled(energy)
    value = lambda t: float(parts(t, *args)[0])  # noqa: E731
    slope = lambda t: np.asarray(parts(t, *args)[1], float)  # noqa: E731
    curved = lambda t: np.asarray(parts(t, *args)[2], float)  # noqa: E731
    start = np.asarray(start, float)
    if not np.isfinite(value(start)):
        raise ValueError(f"The energy is {value(start)} at the start; give parameters that the prior allows.")
    end = minimize(value, start, jac=slope, hess=curved, method="trust-exact", options={"gtol": 1e-10}).x
    hessian = curved(end)
    # a last Newton step takes away what the stopping rule leaves; where the Hessian is singular there is none
    if np.all(np.linalg.eigvalsh(hessian) > 0):
        end = end - np.linalg.solve(hessian, slope(end))
        hessian = curved(end)
    return PosteriorMode(end, value(end), hessian)


@lru_cache(maxsize=64)
def _compiled(energy: Callable) -> Callable:
    """Value, gradient and Hessian in one program, compiled once for each energy and shape."""

    def parts(t: Array, *args: Array) -> tuple[Array, Array, Array]:
        return energy(t, *args), jax.grad(energy)(t, *args), jax.hessian(energy)(t, *args)

    return jax.jit(parts)
