"""Sines, exponentials and Gaussians as activations, in closed form."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .activation import ActivationLayer


@dataclass(frozen=True)
class Sin(ActivationLayer):
    """a sin(b z + c): with e± = exp(-b²(q₁ + q₂ ± 2k)/2), E φφ = (a²/2)(e₋ - cos(2c) e₊) and
    E φ'φ' = (a²b²/2)(e₋ + cos(2c) e₊)."""

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0

    def function(self, z: Array) -> Array:
        return self.a * jnp.sin(self.b * z + self.c)

    def notes(self, q: Array) -> Any:
        return self.b**2 * q / 2

    def moment(self, q: Array) -> Array:
        return self.a**2 / 2 * (1 - np.cos(2 * self.c) * jnp.exp(-2 * self.b**2 * q))

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        level, k = -(first + second), self.b**2 * k
        near, far = jnp.exp(level + k), np.cos(2 * self.c) * jnp.exp(level - k)
        half = self.a**2 / 2
        return half * (near - far), half * self.b**2 * (near + far) if slopes else None


def Cos(a: float = 1.0, b: float = 1.0) -> Sin:
    """a cos(b z)."""
    return Sin(a, b, float(np.pi / 2))


@dataclass(frozen=True)
class Exp(ActivationLayer):
    """a exp(b z): E φφ = a² exp(b²(q₁ + q₂)/2 + b² k), E φ'φ' = b² E φφ."""

    a: float = 1.0
    b: float = 1.0

    def function(self, z: Array) -> Array:
        return self.a * jnp.exp(self.b * z)

    def notes(self, q: Array) -> Any:
        return self.b**2 * q / 2

    def moment(self, q: Array) -> Array:
        return self.a**2 * jnp.exp(2 * self.b**2 * q)

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        nngp = self.a**2 * jnp.exp(first + second + self.b**2 * k)
        return nngp, self.b**2 * nngp if slopes else None


@dataclass(frozen=True)
class GaussianBump(ActivationLayer):
    """a exp(-b z²): with D = (1 + 2b q₁)(1 + 2b q₂) - 4b²k², E φφ = a²/√D and E φ'φ' = 4a²b² k/D^(3/2)."""

    a: float = 1.0
    b: float = 1.0

    def function(self, z: Array) -> Array:
        return self.a * jnp.exp(-self.b * z * z)

    def notes(self, q: Array) -> Any:
        return 1 + 2 * self.b * q

    def moment(self, q: Array) -> Array:
        return self.a**2 / jnp.sqrt(1 + 4 * self.b * q)

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        D = first * second - 4 * self.b**2 * k * k
        nngp = self.a**2 / jnp.sqrt(D)
        return nngp, 4 * self.b**2 * k * nngp / D if slopes else None
