"""Piecewise linear activations: ReLU, leaky ReLU, |z|, and the steps that are their slopes. Cho and Saul 2009."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .activation import ActivationLayer, inverse_root, root


@jax.custom_jvp
def arc_cosine_0(c: Array) -> Array:
    """π - arccos c; its slope 1/√(1 - c²) is set to 0 where it is infinite."""
    return np.pi - arccos(c)


@arc_cosine_0.defjvp
def _arc_cosine_0_jvp(primals, tangents):
    (c,), (dc,) = primals, tangents
    rest = 1 - c * c
    return arc_cosine_0(c), jnp.where(rest > 0, jax.lax.rsqrt(jnp.where(rest > 0, rest, 1)), 0) * dc


@jax.custom_jvp
def arc_cosine_1(c: Array) -> Array:
    """√(1 - c²) + (π - arccos c) c; its slope is π - arccos c, finite everywhere."""
    gap = _gap(c)
    return jnp.sqrt(gap * (2 - gap)) + arc_cosine_0(c) * c


@arc_cosine_1.defjvp
def _arc_cosine_1_jvp(primals, tangents):
    (c,), (dc,) = primals, tangents
    return arc_cosine_1(c), arc_cosine_0(c) * dc


def arccos(c: Array) -> Array:
    """arccos of c, which rounding may have put outside [-1, 1].

    In single precision √(1 - |c|) times a polynomial, off by 7e-8 (Abramowitz and Stegun 4.4.46), which vectorises.
    """
    gap = _gap(c)
    if c.dtype == jnp.float32:
        series = jnp.full_like(c, _ARCCOS[-1])
        for coefficient in _ARCCOS[-2::-1]:
            series = series * (1 - gap) + coefficient
        angle = jnp.sqrt(gap) * series
    else:
        angle = jnp.arccos(1 - gap)
    return jnp.where(c < 0, jnp.asarray(np.pi, c.dtype) - angle, angle)


def _gap(c: Array) -> Array:
    """1 - |c|, and 0 below 16 units of rounding: that much rounding leaves of equal inputs.

    It is an angle of 8e-8 in double precision, of 2e-3 in single.
    """
    gap = 1 - jnp.abs(c)
    return jnp.where(gap < 16 * jnp.finfo(c.dtype).eps, 0, gap)


_ARCCOS = np.array(
    [
        1.5707963050,
        -0.2145988016,
        0.0889789874,
        -0.0501743046,
        0.0308918810,
        -0.0170881256,
        0.0066700901,
        -0.0012624911,
    ],
    np.float32,
)


@dataclass(frozen=True)
class ABRelu(ActivationLayer):
    """φ(z) = a z below 0 and b z above.

    With c = k/√(q₁q₂): E φφ = (a-b)²/(2π) √(q₁q₂) (√(1-c²) + (π - arccos c) c) + a b k,
    E φ'φ' = (a-b)²/(2π) (π - arccos c) + a b.
    """

    a: float
    b: float

    def function(self, z: Array) -> Array:
        return jnp.where(z > 0, self.b * z, self.a * z)

    def notes(self, q: Array) -> Any:
        return root(q), inverse_root(q)

    def moment(self, q: Array) -> Array:
        return q * ((self.a**2 + self.b**2) / 2)

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        (root_1, inverse_1), (root_2, inverse_2) = first, second
        c = k * inverse_1 * inverse_2
        scale, straight = (self.a - self.b) ** 2 / (2 * np.pi), self.a * self.b
        nngp = (scale * root_1) * root_2 * arc_cosine_1(c)
        nngp = nngp if straight == 0 else nngp + straight * k
        if not slopes:
            return nngp, None
        slope = scale * arc_cosine_0(c)
        return nngp, slope if straight == 0 else slope + straight


def Relu() -> ABRelu:
    """max(z, 0)."""
    return ABRelu(0.0, 1.0)


def LeakyRelu(slope: float = 0.01) -> ABRelu:
    """z above 0 and slope z below."""
    return ABRelu(slope, 1.0)


def Abs() -> ABRelu:
    """|z|."""
    return ABRelu(-1.0, 1.0)


@dataclass(frozen=True)
class Step(ActivationLayer):
    """φ(z) = a below 0 and b above: E φφ = (a+b)²/4 + (b-a)²/(2π) arcsin c.

    Its slope is 0 wherever there is one, so that gradients, and Θ, come from the layers after it only.
    """

    a: float
    b: float

    def function(self, z: Array) -> Array:
        return jnp.where(z > 0, self.b, self.a).astype(z.dtype)

    def notes(self, q: Array) -> Any:
        return inverse_root(q)

    def moment(self, q: Array) -> Array:
        return jnp.full_like(q, (self.a**2 + self.b**2) / 2)

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        arcsine = arc_cosine_0(k * first * second) - np.pi / 2
        nngp = (self.a + self.b) ** 2 / 4 + (self.b - self.a) ** 2 / (2 * np.pi) * arcsine
        return nngp, jnp.zeros_like(k) if slopes else None


def Sign() -> Step:
    """The sign of z."""
    return Step(-1.0, 1.0)


def Heaviside() -> Step:
    """1 for z > 0, else 0."""
    return Step(0.0, 1.0)
