"""Distributions of inputs, with densities, and integrals against a density over a box."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Num

Points = Num[Array | np.ndarray, "*n d"]
Values = Num[Array | np.ndarray, "*n"]

REACH = 12.0  # a normal distribution has 4e-33 of its mass beyond twelve deviations


@dataclass(frozen=True)
class UniformInputs:
    """Inputs uniform on the cube [low, high]^dim.

    >>> UniformInputs(2).density(np.array([[0.5, 0.5], [2.0, 0.5]])).tolist()
    [1.0, 0.0]
    """

    dim: int = 1
    low: float = 0.0
    high: float = 1.0

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Float[np.ndarray, "..."]:
        return rng.uniform(self.low, self.high, (*shape, self.dim))

    def density(self, x: Points) -> Values:
        inside = np.all((x >= self.low) & (x <= self.high), axis=-1)
        return inside / (self.high - self.low) ** self.dim

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(self.dim, self.low), np.full(self.dim, self.high)


@dataclass(frozen=True)
class NormalInputs:
    """Inputs with independent coordinates N(0, scale²)."""

    dim: int = 1
    scale: float = 1.0

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Float[np.ndarray, "..."]:
        return self.scale * rng.standard_normal((*shape, self.dim))

    def density(self, x: Points) -> Values:
        return normal_density(np.asarray(x), self.scale)

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(self.dim, -REACH * self.scale), np.full(self.dim, REACH * self.scale)


Inputs = UniformInputs | NormalInputs


def normal_density(x: np.ndarray, scale: float) -> np.ndarray:
    """The density of N(0, scale² I) at the rows of x."""
    norm = (2 * np.pi * scale**2) ** (-x.shape[-1] / 2)
    return norm * np.exp(-(x**2).sum(-1) / (2 * scale**2))


def integral(function, density, low, high, atol: float) -> Any:
    """∫ g p over a box, by SciPy's adaptive cubature; it bisects around kinks and jumps of g."""
    from scipy.integrate import cubature

    def integrand(x):
        values = np.asarray(function(x))
        return values * density(x).reshape(-1, *(1,) * (values.ndim - 1))

    # The middle of a box is where a distribution's symmetry puts kinks and peaks: one cut there saves many.
    middle = [(np.asarray(low) + np.asarray(high)) / 2]
    result = cubature(integrand, low, high, rtol=1e-10, atol=atol, max_subdivisions=20_000, points=middle)
    if result.status != "converged":
        raise ValueError(
            f"The integral over {len(low)} inputs is known to {np.max(result.error):.2g} only; "
            "raise atol, or use monte_carlo_risk."
        )
    return float(result.estimate) if np.ndim(result.estimate) == 0 else result.estimate
