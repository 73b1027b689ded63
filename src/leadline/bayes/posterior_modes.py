"""The most probable parameters: the minimum of the energy E = −ln p(D|θ) − ln p(θ), and the curvature there."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Num

from leadline.optimisation import newton_minimum


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

    `optimisation.newton_minimum` with derivatives by JAX; it ends at a local minimum.

    >>> energy = lambda t, y: jax.numpy.sum((t - y) ** 2 + t**2) / 2
    >>> mode = map_estimate(energy, np.zeros(1), np.ones(1))
    >>> mode.theta.round(6).tolist(), mode.hessian.round(6).tolist()
    ([0.5], [[2.0]])
    """
    value, derivatives = _compiled(energy)
    end = newton_minimum(lambda t: value(t, *args), np.asarray(start, float), lambda t: derivatives(t, *args))
    return PosteriorMode(end.point, end.value, end.hessian)


@lru_cache(maxsize=64)
def _compiled(energy: Callable) -> tuple[Callable, Callable]:
    """The energy, and its gradient with its Hessian, compiled once for each energy and shape."""
    return jax.jit(energy), jax.jit(lambda t, *args: (jax.grad(energy)(t, *args), jax.hessian(energy)(t, *args)))
