"""Descent on a factorisation with fresh noise in the labels: it drifts along the valley of minima, where GD rests."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from leadline.data import generator


class LabelNoisePath(NamedTuple):
    """A_t and B_t of every run, t = 0 … T, and the residuals R_t = A_tB_t − G − noise of steps 0 … T−1."""

    left: Float[np.ndarray, "points runs m p"]
    right: Float[np.ndarray, "points runs p d"]
    residuals: Float[np.ndarray, "steps runs m d"]

    @property
    def imbalance(self) -> Float[np.ndarray, "points runs"]:
        """‖AᵀA − BBᵀ‖_F: 0 where the two factors are balanced, which is where the minimum is flattest."""
        gap = np.swapaxes(self.left, -1, -2) @ self.left - self.right @ np.swapaxes(self.right, -1, -2)
        return np.sqrt(np.sum(gap**2, axis=(-1, -2)))


def label_noise_path(
    left: Float[np.ndarray, "m p"],
    right: Float[np.ndarray, "p d"],
    target: Float[np.ndarray, "m d"],
    *,
    step_size: float,
    noise: float,
    num_steps: int,
    runs: int = 1,
    key: Key[Array, ""] | PRNGKeyArray,
) -> LabelNoisePath:
    """A ← A − η R Bᵀ, B ← B − η Aᵀ R with R = AB − G − s ξ, ξ of independent N(0, 1) entries, fresh at every step.

    Descent on ½‖AB − G‖², the loss of a two-layer linear network on whitened inputs; `noise` s = 0 is plain gradient
    descent. AᵀA − BBᵀ changes at second order in η only, by η²(B RᵀR Bᵀ − Aᵀ R Rᵀ A); for single numbers
    a² − b² is multiplied by 1 − η²r². Blanc et al. 2020 on the drift that label noise causes.

    >>> import jax
    >>> path = label_noise_path(np.array([[2.0]]), np.array([[0.5]]), np.ones((1, 1)), step_size=0.1, noise=0.0,
    ...     num_steps=5, key=jax.random.key(0))
    >>> path.left[-1].ravel().tolist(), path.imbalance[-1].tolist()
    ([2.0], [3.75])
    """
    left, right, target = (np.asarray(part, float) for part in (left, right, target))
    if not step_size > 0 or noise < 0 or num_steps < 1 or runs < 1:
        raise ValueError(
            f"label_noise_path got step_size {step_size:g}, noise {noise:g}, {num_steps} steps, {runs} runs; give a "
            "positive step size, noise of at least 0, and at least one step and one run."
        )
    rng = generator(key)
    A = np.empty((num_steps + 1, runs, *left.shape))
    B = np.empty((num_steps + 1, runs, *right.shape))
    A[0], B[0] = left, right
    R = (
        -noise * rng.normal(size=(num_steps, runs, *target.shape))
        if noise > 0
        else np.zeros((num_steps, runs, *target.shape))
    )
    for t in range(num_steps):
        a, b, r = A[t], B[t], R[t]
        r += a @ b - target
        A[t + 1] = a - step_size * (r @ b.swapaxes(1, 2))
        B[t + 1] = b - step_size * (a.swapaxes(1, 2) @ r)
    if not np.isfinite(A[-1]).all():
        raise ValueError(f"The descent diverges with step {step_size:g} and noise {noise:g}; give smaller ones.")
    return LabelNoisePath(A, B, R)
