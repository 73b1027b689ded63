"""How large a stochastic gradient can be: E‖gᵢ‖² ≤ σ₀ + σ‖g‖², exact on least squares and an envelope elsewhere."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num


class SecondMomentForm(NamedTuple):
    """E‖gᵢ‖² = vᵀQv − 2q·v + q₀ at w = w* + v on least squares, and ‖g‖² = vᵀH²v.

    >>> form = second_moment_form(np.array([.6, .8, 1, 1.2, .5, 1.1]), np.array([1, -.3, .4, .9, -.6, .2]))
    >>> round(form.least_slope, 6), round(form.offset(1.2 * form.least_slope), 6)
    (1.284315, 0.18113)
    """

    square: Float[np.ndarray, "p p"]
    linear: Float[np.ndarray, " p"]
    constant: float
    hessian: Float[np.ndarray, "p p"]

    def __call__(self, v: Float[np.ndarray, "... p"]) -> Float[np.ndarray, "..."] | float:
        v = np.asarray(v, float)
        return np.einsum("...i,ij,...j->...", v, self.square, v) - 2 * v @ self.linear + self.constant

    def gradient_square(self, v: Float[np.ndarray, "... p"]) -> Float[np.ndarray, "..."] | float:
        return np.sum((np.asarray(v, float) @ self.hessian) ** 2, axis=-1)

    @property
    def least_slope(self) -> float:
        """σ_min = λ_max(H⁻¹QH⁻¹) ≥ 1 (Jensen): below it no σ₀ is large enough."""
        inverse = np.linalg.inv(self.hessian)
        return float(np.linalg.eigvalsh(inverse @ self.square @ inverse)[-1])

    def offset(self, slope: float) -> float:
        """σ₀ = q₀ + qᵀ(σH² − Q)⁻¹q, the least offset that goes with σ > σ_min."""
        if not slope > self.least_slope:
            raise ValueError(f"No σ₀ goes with σ = {slope:.6g}: it must exceed σ_min = {self.least_slope:.6g}.")
        return float(self.constant - self.linear @ self.tight_point(slope))

    def tight_point(self, slope: float) -> Float[np.ndarray, " p"]:
        """v at which the bound is met with equality: −(σH² − Q)⁻¹q."""
        return -np.linalg.solve(slope * self.hessian @ self.hessian - self.square, self.linear)


def second_moment_form(x: Num[Array | np.ndarray, "n ..."], y: Num[Array | np.ndarray, " n"]) -> SecondMomentForm:
    """Q = E[‖x‖² xxᵀ], q = E[‖x‖² r x] and q₀ = E[‖x‖² r²] with the residuals r = y − Xw*."""
    x, y = np.asarray(x, float).reshape(len(x), -1), np.asarray(y, float)
    r, size, n = y - x @ (np.linalg.pinv(x) @ y), np.sum(x**2, axis=1), len(x)
    return SecondMomentForm((x.T * size) @ x / n, x.T @ (size * r) / n, float(np.mean(size * r**2)), x.T @ x / n)


def second_moment_envelope(
    gradient_squares: Float[np.ndarray, " t"], second_moments: Float[np.ndarray, " t"], slope: float
) -> float:
    """σ₀ = max_t (E‖gᵢ‖² − σ‖g‖²) over measured points, at least 0: the bound's least offset along a run.

    >>> second_moment_envelope(np.array([0.0, 1.0]), np.array([0.5, 3.0]), 2.0)
    1.0
    """
    return float(max(np.max(np.asarray(second_moments) - slope * np.asarray(gradient_squares)), 0.0))
