"""Kernels that are integrals of products: k(x, y) = ∫ G(z, x) G(z, y) dz."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Real

from .algebra import Kernel
from .pairs import Matrix, Others, Points

Smoothing = Callable[..., Float[Array | np.ndarray, "nodes m"]]
Density = Real[Array | np.ndarray, " nodes"]


class IntegralKernel(Kernel):
    """k(x, y) = ∫ G(z, x) G(z, y) dz by quadrature; its space is {f = ∫ g(z) G(z, ·) dz}, ‖f‖ = min ‖g‖ over such g.

    The minimum is attained by the g in the closed span of the functions G(·, x). `smoothing(z, x)` gives the matrix of
    all G(zᵢ, xⱼ).

    >>> from leadline.kernels import Gaussian
    >>> k = IntegralKernel(Gaussian(1.0), np.linspace(-9, 9, 181)[:, None], np.full(181, 0.1))
    >>> k(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(6).tolist()  # √π exp(−(x − y)²/4)
    [[1.772454, 0.652049]]
    """

    smoothing: Smoothing
    nodes: Float[Array | np.ndarray, "nodes ..."]
    weights: Float[Array | np.ndarray, " nodes"]

    def __call__(self, x: Points, z: Others) -> Matrix:
        return (self.smoothing(self.nodes, x) * self.weights[:, None]).T @ self.smoothing(self.nodes, z)

    def function(self, g: Density, x: Points) -> Float[Array | np.ndarray, " m"]:
        """f(x) = ∫ g(z) G(z, x) dz."""
        return (self.weights * g) @ self.smoothing(self.nodes, x)

    def density(self, centres: Points, alpha: Real[Array | np.ndarray, " m"]) -> Float[Array | np.ndarray, " nodes"]:
        """g = Σ αᵢ G(·, xᵢ), the shortest g of the function Σ αᵢ k(xᵢ, ·)."""
        return self.smoothing(self.nodes, centres) @ alpha

    def density_norm(self, g: Density) -> float:
        """‖g‖ in L₂."""
        return float((self.weights @ g**2) ** 0.5)
