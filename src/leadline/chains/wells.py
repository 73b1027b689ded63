"""Losses with two wells of chosen depth and width, and the critical points of a loss of one variable."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.optimisation.objectives.objective import Objective

from .grid import Points, on_grid

Pair = Float[Array, "2"]


def _pair(value: object) -> Array:
    return jnp.asarray(value, float)


class ParabolaWells(Objective):
    """In one dimension: l(w) = min_k [E_k + h_k (w − c_k)²/2], two parabolas of depths E, curvatures h, centres c.

    The barrier lies where they meet; Laplace's formula errs only by the tails beyond it.

    >>> wells = ParabolaWells(depths=(0.0, 0.1), curvatures=(4.0, 1.0), centres=(-1.0, 1.0))
    >>> [round(float(wells(jnp.array([w]))), 6) for w in (-1.0, 1.0)]
    [0.0, 0.1]
    """

    depths: Pair = eqx.field(converter=_pair)
    curvatures: Pair = eqx.field(converter=_pair)
    centres: Pair = eqx.field(converter=_pair)

    def parabolas(self, w: Float[Array, "1"]) -> Pair:
        return self.depths + self.curvatures * (w[0] - self.centres) ** 2 / 2

    def __call__(self, w: Float[Array, "1"]) -> Float[Array, ""]:
        return jnp.min(self.parabolas(w))

    def gradient(self, w: Float[Array, "1"]) -> Float[Array, "1"]:
        k = jnp.argmin(self.parabolas(w))
        return (self.curvatures[k] * (w[0] - self.centres[k]))[None]


class CriticalPoints(NamedTuple):
    """Where l' = 0 on an interval, in order, with l and l'' there; minima have l'' > 0."""

    places: Float[np.ndarray, " k"]
    losses: Float[np.ndarray, " k"]
    curvatures: Float[np.ndarray, " k"]

    @property
    def minima(self) -> "CriticalPoints":
        return CriticalPoints(*(part[self.curvatures > 0] for part in self))

    @property
    def barriers(self) -> "CriticalPoints":
        return CriticalPoints(*(part[self.curvatures < 0] for part in self))


def critical_points_on(objective: Objective, points: Points) -> CriticalPoints:
    """Sign changes of l' between grid points, refined by bisection (Brent).

    >>> from leadline.chains import even_grid
    >>> from leadline.optimisation import DoubleWell
    >>> critical_points_on(DoubleWell(), even_grid(-3.0, 3.0, 301)).places.round(4).tolist()
    [-1.0467, 0.101, 0.9456]
    """
    from scipy.optimize import brentq

    slope = on_grid(objective.gradient, points)[:, 0]
    at = lambda w: float(objective.gradient(jnp.array([w]))[0])  # noqa: E731
    signs = np.sign(slope)
    places = [points[i] for i in np.flatnonzero(signs == 0)]
    places += [brentq(at, points[i], points[i + 1], xtol=1e-14) for i in np.flatnonzero(signs[:-1] * signs[1:] < 0)]
    places = np.sort(np.array(places))
    bend = [float(objective.hessian(jnp.array([w]))[0, 0]) for w in places]
    return CriticalPoints(places, on_grid(objective, places), np.array(bend))


class TwinWells(Objective):
    """In one dimension: two global minima at −1 and 1, of value 0 and of curvatures 1 and `ratio`.

    l(w) = (s/2)(w² − 1)²(1 + c tanh w)², smooth and confining; c tanh 1 = (√ratio − 1)/(√ratio + 1), ratio below 50.

    >>> twins = TwinWells(4.0)
    >>> [round(float(twins(jnp.array([w]))), 4) for w in (-1.0, 0.0, 1.0)]
    [0.0, 0.2812, 0.0]
    """

    ratio: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float))

    def __call__(self, w: Float[Array, "1"]) -> Float[Array, ""]:
        root = jnp.sqrt(self.ratio)
        lean = (root - 1) / (root + 1)
        scale = 1 / (4 * (1 - lean) ** 2)
        return jnp.sum(scale / 2 * ((w**2 - 1) * (1 + lean / np.tanh(1.0) * jnp.tanh(w))) ** 2)
