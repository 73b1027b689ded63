"""Kernels of the distance alone: Gaussian, Laplace, Matérn."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline._arrays import namespace

from .algebra import Kernel, at_least_zero
from .pairs import Matrix, Others, Points, Scalar, Vector, distances, root, squared_distances


class Stationary(Kernel):
    """k(x, z) = g(‖x - z‖/s) with g(0) = 1 and the length scale s > 0."""

    scale: Scalar = 1.0

    def __check_init__(self):
        at_least_zero(self.scale, type(self).__name__, "scale", strict=True)

    def diagonal(self, x: Points) -> Vector:
        return namespace(x).ones(len(x), x.dtype)


class Gaussian(Stationary):
    """exp(-‖x - z‖²/(2 s²)).

    >>> Gaussian(2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(6).tolist()
    [[1.0, 0.606531]]
    """

    def __call__(self, x: Points, z: Others) -> Matrix:
        return namespace(x, z, self.scale).exp(squared_distances(x, z) / (-2 * self.scale**2))


class Laplace(Stationary):
    """exp(-‖x - z‖/s), the covariance of the Ornstein-Uhlenbeck process: Matérn 1/2."""

    def __call__(self, x: Points, z: Others) -> Matrix:
        return namespace(x, z, self.scale).exp(distances(x, z) / -self.scale)


class Matern32(Stationary):
    """(1 + r) e^-r with r = √3 ‖x - z‖/s: sample functions once differentiable."""

    def __call__(self, x: Points, z: Others) -> Matrix:
        square = 3 * squared_distances(x, z) / self.scale**2
        return _matern32(np, square) if namespace(square) is np else _smooth_matern32(square)


class Matern52(Stationary):
    """(1 + r + r²/3) e^-r with r = √5 ‖x - z‖/s: sample functions twice differentiable."""

    def __call__(self, x: Points, z: Others) -> Matrix:
        square = 5 * squared_distances(x, z) / self.scale**2
        return _matern52(np, square) if namespace(square) is np else _smooth_matern52(square)


def _matern32(xp, square):
    r = root(square)
    return (1 + r) * xp.exp(-r)


def _matern52(xp, square):
    r = root(square)
    return (1 + r + square / 3) * xp.exp(-r)


# Both are differentiable in r², also at 0, where a derivative through the root of 0 would not be a number.
@jax.custom_jvp
def _smooth_matern32(square):
    return _matern32(jnp, square)


@_smooth_matern32.defjvp
def _(primals, tangents):
    return _smooth_matern32(*primals), -0.5 * jnp.exp(-root(primals[0])) * tangents[0]


@jax.custom_jvp
def _smooth_matern52(square):
    return _matern52(jnp, square)


@_smooth_matern52.defjvp
def _(primals, tangents):
    return _smooth_matern52(*primals), -_smooth_matern32(primals[0]) / 6 * tangents[0]
