"""How the batch limits and speeds up SGD: the guaranteed rule, and the sharp one for Gaussian least squares."""

import numpy as np
from jaxtyping import Float

Eigenvalues = Float[np.ndarray, " p"]


def noise_share(samples: int, batch: float, *, replacement: bool = True) -> float:
    """c: the mean of b of n gradients has c times the covariance of one; 1/b, or (n − b)/(b(n − 1)) if all differ.

    >>> noise_share(5, 2), noise_share(5, 2, replacement=False), noise_share(5, 5, replacement=False)
    (0.5, 0.375, 0.0)
    """
    if not batch >= 1 or (not replacement and batch > samples):
        raise ValueError(f"A batch of {batch} of {samples} samples: give 1 to {samples}, or replacement.")
    return 1 / batch if replacement else (samples - batch) / (batch * max(samples - 1, 1))


def batch_speedup(batch: float, sigma: float) -> float:
    """By what the iterations fall when the guaranteed step 1/(L(1 + (σ − 1)/b)) is taken: bσ/(b + σ − 1).

    About b while b is far below σ, at most σ; half of it at b = σ − 1 (where the step is half of 1/L).

    >>> batch_speedup(4, 5.0)
    2.5
    """
    if batch < 1 or sigma < 1:
        raise ValueError(f"batch = {batch:g} and sigma = {sigma:g}: give batch ≥ 1 and sigma ≥ 1.")
    return batch * sigma / (batch + sigma - 1)


def gaussian_sigma(eigenvalues: Eigenvalues) -> float:
    """The least σ of E‖gᵢ‖² ≤ σ₀ + σ‖g‖² for least squares with x ~ N(0, H): 2 + tr H/m.

    >>> gaussian_sigma(np.array([1.0, 1.0]))
    4.0
    """
    return float(2 + np.sum(eigenvalues) / np.min(eigenvalues))


def gaussian_moment_map(eigenvalues: Eigenvalues, step_size: float, batch: float) -> Float[np.ndarray, "p p"]:
    """The map of E vⱼ² (v in the eigenbasis of H) in one step of SGD on least squares with x ~ N(0, H), without noise.

    sⱼ⁺ = (1 − ηλⱼ)² sⱼ + (η²/b)(λⱼ² sⱼ + λⱼ Σₖ λₖ sₖ), from E[xxᵀSxxᵀ] = 2HSH + H tr(HS).

    >>> gaussian_moment_map(np.array([1.0]), 0.5, 1).tolist()
    [[0.75]]
    """
    lam = np.asarray(eigenvalues, float)
    return np.diag((1 - step_size * lam) ** 2 + step_size**2 * lam**2 / batch) + step_size**2 / batch * np.outer(
        lam, lam
    )


def gaussian_largest_step(eigenvalues: Eigenvalues, batch: float) -> float:
    """The step at which least squares with x ~ N(0, H) loses mean-square stability.

    Stable iff ηL(1 + 1/b) < 2 and (η/b) Σⱼ λⱼ/(2 − ηλⱼ(1 + 1/b)) < 1: about min(2b/tr H, 2/L).

    >>> round(gaussian_largest_step(np.array([1.0]), 1), 6)
    0.666667
    """
    from scipy.optimize import brentq

    lam, more = np.asarray(eigenvalues, float), 1 + 1 / batch
    if np.min(lam) <= 0 or batch < 1:
        raise ValueError(f"eigenvalues from {np.min(lam):g}, batch = {batch:g}: give positive ones and batch ≥ 1.")
    pole = 2 / (lam.max() * more)

    def excess(share: float) -> float:
        step = share * pole
        return step / batch * np.sum(lam / (2 - step * lam * more)) - 1

    return float(brentq(excess, 0.0, 1 - 1e-15, xtol=1e-16, rtol=1e-14) * pole)


def gaussian_critical_batch(eigenvalues: Eigenvalues) -> float:
    """tr H/L, the batch up to which the stable step grows with the batch (the effective dimension of the inputs).

    >>> gaussian_critical_batch(np.array([1.0, 0.5, 0.5]))
    2.0
    """
    return float(np.sum(eigenvalues) / np.max(eigenvalues))
