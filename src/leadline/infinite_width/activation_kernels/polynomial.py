"""Polynomials as activations, exactly."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.polynomial import polynomial

from .activation import ActivationLayer


@dataclass(frozen=True)
class Polynomial(ActivationLayer):
    """p(z) = Σ a_j z^j, coefficients from the constant upwards. By Price's theorem, with p^(n) the n-th derivative,

    E p(u)p(v) = Σ_n kⁿ/n! E p^(n)(u) E p^(n)(v), a finite sum, and so for p'.

    >>> square = Polynomial((0.0, 0.0, 1.0))
    >>> float(square.dual(jnp.asarray(0.5), *[square.notes(jnp.asarray(1.0))] * 2, False)[0])  # q² + 2k²
    1.5
    """

    coefficients: tuple[float, ...]

    def function(self, z: Array) -> Array:
        value = jnp.zeros_like(z)
        for a in reversed(self.coefficients):
            value = value * z + a
        return value

    def notes(self, q: Array) -> Any:
        derivatives = [polynomial.polyder(self.coefficients, n) for n in range(len(self.coefficients))]
        return tuple(_mean(p, q) / math.sqrt(math.factorial(n)) for n, p in enumerate(derivatives))

    def moment(self, q: Array) -> Array:
        return _mean(polynomial.polymul(self.coefficients, self.coefficients), q)

    def dual(self, k: Array, first: Any, second: Any, slopes: bool) -> tuple[Array, Array | None]:
        terms = [a * b for a, b in zip(first, second, strict=True)]
        nngp = slope = jnp.zeros_like(k)
        for n in reversed(range(len(terms))):
            nngp = nngp * k + terms[n]
        for n in reversed(range(1, len(terms))):
            slope = slope * k + n * terms[n]  # (1/(n-1)!) of the n-th derivatives: n times their share above
        return nngp, slope if slopes else None


def _mean(p: np.ndarray, q: Array) -> Array:
    """E p(√q Z) = Σ p_2j (2j-1)!! q^j."""
    value = jnp.zeros_like(q)
    for j in reversed(range(0, len(p), 2)):
        value = value * q + float(p[j]) * math.prod(range(1, j, 2))
    return value
