"""Kernels of inner products and norms: linear, affine, polynomial, and those of infinitely many random neurons."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline._arrays import namespace

from .algebra import Kernel, at_least_zero
from .pairs import Matrix, Others, Points, Scalar, Vector, cosines, inner_products, root, squared_norms


class Linear(Kernel):
    """x·z."""

    def __call__(self, x: Points, z: Others) -> Matrix:
        return inner_products(x, z)

    def diagonal(self, x: Points) -> Vector:
        return squared_norms(x)


class Affine(Kernel):
    """x·z + c, c ≥ 0: the functions w·x + b with squared norm ‖w‖² + b²/c."""

    offset: Scalar = 1.0

    def __check_init__(self):
        at_least_zero(self.offset, "Affine", "offset")

    def __call__(self, x: Points, z: Others) -> Matrix:
        return inner_products(x, z) + self.offset

    def diagonal(self, x: Points) -> Vector:
        return squared_norms(x) + self.offset


class Polynomial(Kernel):
    """(x·z + c)^k with c ≥ 0; for c < 0 it is not positive semidefinite and is refused.

    >>> Polynomial(2, 1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])).tolist()
    [[36.0]]
    """

    degree: int = eqx.field(static=True)
    offset: Scalar = 1.0

    def __check_init__(self):
        if self.degree < 1:
            raise ValueError(f"Polynomial got degree {self.degree}; give a whole number of at least 1.")
        at_least_zero(self.offset, "Polynomial", "offset")

    def __call__(self, x: Points, z: Others) -> Matrix:
        return (inner_products(x, z) + self.offset) ** self.degree

    def diagonal(self, x: Points) -> Vector:
        return (squared_norms(x) + self.offset) ** self.degree


class ArcCosine(Kernel):
    """2 E[Θ(w·x) Θ(w·z) (w·x)^n (w·z)^n], w standard normal: ‖x‖^n ‖z‖^n Jₙ(θ)/π (Cho and Saul 2009), n = 0, 1, 2.

    θ is the angle of x and z; n = 1 is twice the kernel of infinitely many ReLU neurons, so k(x, x) = ‖x‖². A zero
    input has k = 0, for n = 0 it has Θ(0) = 1/2 and k = 1/2.

    >>> ArcCosine(1)(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])).round(6).tolist()
    [[4.0, 1.909859], [0.0, 0.0]]
    """

    order: Literal[0, 1, 2] = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.order not in (0, 1, 2):
            raise ValueError(f"ArcCosine got order {self.order}; choose 0 (steps), 1 (ReLU) or 2 (squared ReLU).")

    def __call__(self, x: Points, z: Others) -> Matrix:
        cosine = cosines(x, z)
        angular = _angular[self.order] if namespace(cosine) is np else _smooth_angular[self.order]
        return angular(cosine) * self._size(x)[:, None] * self._size(z)[None, :]

    def diagonal(self, x: Points) -> Vector:
        if self.order == 0:
            return namespace(x).where(abs(x).reshape(len(x), -1).max(axis=1) > 0, 1.0, 0.5).astype(x.dtype)
        square = squared_norms(x)
        return square if self.order == 1 else 3 * square**2

    def _size(self, x: Points) -> Vector:
        if self.order == 0:
            return namespace(x).ones(len(x), x.dtype)
        square = squared_norms(x)
        return root(square) if self.order == 1 else square


class ArcSine(Kernel):
    """E[erf(w·x) erf(w·z)], w standard normal: (2/π) arcsin(2 x·z/√((1 + 2‖x‖²)(1 + 2‖z‖²))) (Williams 1998).

    >>> ArcSine()(np.array([[1.0, 2.0, -1.0]]), np.array([[0.5, -1.0, 2.0]])).round(5).tolist()
    [[-0.38805]]
    """

    def __call__(self, x: Points, z: Others) -> Matrix:
        dot = inner_products(x, z)
        xp = namespace(dot)
        a, b = squared_norms(x)[:, None], squared_norms(z)[None, :]
        # arcsin(u) = arctan(u/√(1 - u²)), with 1 - u² free of cancellation: no infinite derivative at large inputs
        return 2 / np.pi * xp.arctan2(2 * dot, xp.sqrt(1 + 2 * (a + b) + 4 * xp.maximum(a * b - dot**2, 0.0)))

    def diagonal(self, x: Points) -> Vector:
        square = squared_norms(x)
        xp = namespace(square)
        return 2 / np.pi * xp.arctan2(2 * square, xp.sqrt(1 + 4 * square))


def _parts(c):
    xp = namespace(c)
    return root((1 - c) * (1 + c)), np.pi - xp.arccos(c)  # sin θ and π - θ


def _steps(c):
    return _parts(c)[1] / np.pi


def _relus(c):
    sine, rest = _parts(c)
    return (sine + rest * c) / np.pi


def _squares(c):
    sine, rest = _parts(c)
    return (3 * sine * c + rest * (1 + 2 * c**2)) / np.pi


_angular = (_steps, _relus, _squares)


# Jₙ as a function of cos θ, with J₁' = J₀ and J₂' = 4 J₁; J₀' is infinite at ±1 and taken as 0 there.
@jax.custom_jvp
def _smooth_steps(c):
    return _steps(c)


@_smooth_steps.defjvp
def _(primals, tangents):
    sine = _parts(primals[0])[0]
    slope = jnp.where(sine > 0, 1 / jnp.where(sine > 0, sine, 1.0), 0.0) / np.pi
    return _smooth_steps(*primals), slope * tangents[0]


@jax.custom_jvp
def _smooth_relus(c):
    return _relus(c)


@_smooth_relus.defjvp
def _(primals, tangents):
    return _smooth_relus(*primals), _smooth_steps(primals[0]) * tangents[0]


@jax.custom_jvp
def _smooth_squares(c):
    return _squares(c)


@_smooth_squares.defjvp
def _(primals, tangents):
    return _smooth_squares(*primals), 4 * _smooth_relus(primals[0]) * tangents[0]


_smooth_angular = (_smooth_steps, _smooth_relus, _smooth_squares)
