"""Kernel expansions: functions that are finite sums of kernels at stored points."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

Gram = Callable[..., Float[Array | np.ndarray, "m n"]]
Points = Num[Array | np.ndarray, "n ..."]


class Expansion(eqx.Module):
    """f(x) = Σᵢ αᵢ k(xᵢ, x), with ‖f‖² = αᵀKα in the kernel's space; one coefficient (or row) per stored point.

    Several outputs share the points: their coefficients are the columns of α. NumPy points are evaluated by NumPy;
    JAX arrays give JAX arrays, differentiable.

    >>> f = Expansion(lambda x, z: x @ z.T, np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 1.0]))
    >>> f(np.array([[1.0, 1.0]])).tolist(), float(f.squared_norm())  # f(x) = (3, 2)·x
    ([5.0], 13.0)
    """

    kernel: Gram
    centres: Num[Array | np.ndarray, "n ..."]
    coefficients: Float[Array | np.ndarray, "n ..."]

    def __init__(self, kernel: Gram, centres: Points, coefficients: Num[Array | np.ndarray, "m ..."]):
        if len(centres) != len(coefficients):
            raise ValueError(
                f"An expansion got {len(centres)} points and {len(coefficients)} coefficients; give one per point."
            )
        self.kernel, self.centres, self.coefficients = kernel, as_points(centres), as_points(coefficients)

    def __call__(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[Array | np.ndarray, "m ..."]:
        """f at every row of x."""
        return self.kernel(as_points(x), self.centres) @ self.coefficients

    def squared_norm(self) -> Float[Array | np.ndarray, "*outputs"]:
        """αᵀKα, per output; at least 0 (rounding of a kernel that is nearly singular is cut off)."""
        K = self.kernel(self.centres, self.centres)
        square = (self.coefficients * (K @ self.coefficients)).sum(axis=0)
        return jnp.maximum(square, 0.0) if isinstance(square, jax.Array) else np.asarray(np.maximum(square, 0.0))

    def norm(self) -> Float[Array | np.ndarray, "*outputs"]:
        """‖f‖ in the kernel's space."""
        return self.squared_norm() ** 0.5


def as_points(x: Num[Array | np.ndarray, "..."]) -> Float[Array | np.ndarray, "..."]:
    """The same array, or for whole numbers one of floating-point numbers; NumPy stays NumPy."""
    x = x if isinstance(x, jax.Array) else np.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)
