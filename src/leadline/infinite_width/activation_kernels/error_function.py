"""The error function and the Gaussian error linear unit, in closed form."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from leadline.networks import gelu

from .activation import ActivationLayer


@dataclass(frozen=True)
class Erf(ActivationLayer):
    """erf(z): E φφ = (2/π) arcsin(2k/√(d₁d₂)), E φ'φ' = (4/π)/√(d₁d₂ - 4k²), d = 1 + 2q. Williams 1997."""

    def function(self, z: Array) -> Array:
        return jax.lax.erf(z)

    def notes(self, q: Array) -> Any:
        return 1 / jnp.sqrt(1 + 2 * q)

    def moment(self, q: Array) -> Array:
        return (2 / np.pi) * jnp.arcsin(2 * q / (1 + 2 * q))

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        scale = first * second
        s = 2 * k * scale
        nngp = (2 / np.pi) * jnp.arcsin(s)
        return nngp, (4 / np.pi) * scale / jnp.sqrt(1 - s * s) if slopes else None


@dataclass(frozen=True)
class Gelu(ActivationLayer):
    """z Φ(z), with Φ the normal distribution function. With d = 1 + q, D = d₁d₂ - k², C = 1/(2π√D) and
    A = E Φ(u)Φ(v) = 1/4 + arcsin(k/√(d₁d₂))/(2π), Stein's identity gives

    E φφ = k A + C (q₁q₂ - k² + k²/d₁ + k²/d₂),  E φ'φ' = A + C k (1/d₁ + 1/d₂ + 1/D).
    """

    def function(self, z: Array) -> Array:
        return gelu(z)

    def notes(self, q: Array) -> Any:
        return q, 1 / (1 + q)

    def moment(self, q: Array) -> Array:
        note = self.notes(q)
        return self.dual(q, note, note, False)[0]

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        (q1, e1), (q2, e2) = first, second
        inverse = e1 * e2
        s = k * jnp.sqrt(inverse)
        D = (1 + q1) * (1 + q2) * (1 - s * s)
        C = 1 / (2 * np.pi * jnp.sqrt(D))
        A = 0.25 + jnp.arcsin(s) / (2 * np.pi)
        nngp = k * A + C * (q1 * q2 - k * k * (1 - e1 - e2))
        return nngp, A + C * k * (e1 + e2 + 1 / D) if slopes else None
