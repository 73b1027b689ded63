"""Whitening: centred data mapped to X Xᵀ = I, or n I, on the space that they span."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Whitening:
    """x ↦ T(x - m), fitted to samples in columns; `rank` rows of T, `condition` that of the centred X Xᵀ before."""

    mean: Float[np.ndarray, " d"]
    transform: Float[np.ndarray, "rank d"]
    condition: float

    @property
    def rank(self) -> int:
        return self.transform.shape[0]

    def __call__(self, x: Float[np.ndarray, "d n"]) -> Float[np.ndarray, "rank n"]:
        if x.shape[0] != len(self.mean):
            raise ValueError(
                f"This whitening is for {len(self.mean)} rows; it got {x.shape[0]}: put samples in columns."
            )
        return self.transform @ (x - self.mean[:, None])


def whiten(x: Float[np.ndarray, "d n"], *, per_sample: bool = False, tolerance: float = 1e-10) -> Whitening:
    """Centre, then T = S⁻¹Uᵀ from the singular value decomposition X - m = U S Vᵀ, so that the result has X Xᵀ = I.

    With `per_sample` X Xᵀ = n I instead (unit variance). Singular values below `tolerance` s₁ are dropped: full rank d
    needs n ≥ d + 1 samples, as centring takes one.

    >>> x = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.5]])
    >>> z = whiten(x)(x)
    >>> (np.abs(z @ z.T - np.eye(2)).max() < 1e-12, whiten(x[:, :2]).rank)
    (np.True_, 1)
    """
    if not np.all(np.isfinite(x)):
        raise ValueError("whiten got data that are not finite; remove or impute those samples first.")
    if not 0 <= tolerance < 1:
        raise ValueError(f"whiten got tolerance {tolerance}; give a share of the largest singular value from 0 to 1.")
    mean = x.mean(axis=1)
    u, s, _ = np.linalg.svd(x - mean[:, None], full_matrices=False)
    kept = s > max(tolerance, np.finfo(s.dtype).eps * max(x.shape)) * s[0]
    if not kept.any():
        raise ValueError(f"whiten got {x.shape[1]} equal samples; at least two different ones are needed.")
    u, s = u[:, kept], s[kept]
    scale = np.sqrt(x.shape[1]) if per_sample else 1.0
    return Whitening(mean, scale * u.T / s[:, None], float((s[0] / s[-1]) ** 2))
