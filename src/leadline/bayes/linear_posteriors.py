"""The Gaussian linear model: its posterior one datum at a time, its evidence, and the prior that maximises it."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from leadline.learning.regression.gaussian_model import Posterior

Inputs = Num[Array | np.ndarray, "n d"]
Targets = Num[Array | np.ndarray, " n"]


def prior_over_weights(dim: int, alpha: float) -> Posterior:
    """N(0, I/α) as the posterior before any data; α is the prior precision.

    >>> prior_over_weights(1, 4.0).covariance.tolist()
    [[0.25]]
    """
    if dim < 1 or not alpha > 0:
        raise ValueError(f"prior_over_weights got dimension {dim} and precision {alpha}; both must be above 0.")
    return Posterior(np.zeros(dim), np.eye(dim) / alpha)


def updated_posterior(before: Posterior, x: Num[Array | np.ndarray, " d"], y: float, *, sigma: float) -> Posterior:
    """Bayes' rule for one more datum y = θ·x + N(0, σ²), k = Sx/(σ² + xᵀSx): S' = S − k xᵀS, m' = m + k (y − m·x).

    In the form (I − kxᵀ) S (I − kxᵀ)ᵀ + σ²kkᵀ, which stays positive definite under rounding (Joseph 1968).

    >>> after = updated_posterior(prior_over_weights(1, 1.0), np.ones(1), 1.0, sigma=1.0)
    >>> after.mean.tolist(), after.covariance.tolist()
    ([0.5], [[0.5]])
    """
    if not sigma > 0:
        raise ValueError(f"updated_posterior got sigma = {sigma}; a standard deviation must be above 0.")
    x = np.asarray(x, float)
    along = before.covariance @ x
    gain = along / (sigma**2 + x @ along)
    rest = np.eye(len(x)) - np.outer(gain, x)
    covariance = rest @ before.covariance @ rest.T + sigma**2 * np.outer(gain, gain)
    return Posterior(before.mean + gain * (y - before.mean @ x), (covariance + covariance.T) / 2)


def sequential_posteriors(x: Inputs, y: Targets, *, sigma: float, alpha: float) -> list[Posterior]:
    """The prior N(0, I/α) and the posterior after each datum in turn: n + 1 Gaussians.

    >>> [p.mean.tolist() for p in sequential_posteriors(np.ones((2, 1)), np.ones(2), sigma=1.0, alpha=1.0)][:2]
    [[0.0], [0.5]]
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    path = [prior_over_weights(x.shape[1], alpha)]
    for row, target in zip(x, y, strict=True):
        path.append(updated_posterior(path[-1], row, float(target), sigma=sigma))
    return path


def linear_energy(
    theta: Float[np.ndarray, "... d"], x: Inputs, y: Targets, *, sigma: float, alpha: float
) -> Float[np.ndarray, "..."]:
    """E(θ) = −ln p(y|X, θ) − ln p(θ) with all constants, so that ∫e^{−E} is the evidence.

    >>> linear_energy(np.zeros(1), np.zeros((1, 1)), np.zeros(1), sigma=1.0, alpha=1.0).round(6).tolist()  # ln 2π
    1.837877
    """
    x, y, theta = np.asarray(x, float), np.asarray(y, float), np.asarray(theta, float)
    misfit = np.sum((theta @ x.T - y) ** 2, axis=-1) / (2 * sigma**2) + len(y) / 2 * math.log(2 * math.pi * sigma**2)
    dim = x.shape[1]
    return np.asarray(misfit + alpha / 2 * np.sum(theta**2, axis=-1) - dim / 2 * math.log(alpha / (2 * math.pi)))


def linear_log_evidence(x: Inputs, y: Targets, *, sigma: float, alpha: float) -> float:
    """ln Z = ln N(y; 0, σ²I + XXᵀ/α), the marginal likelihood of the linear model, from the singular values of X.

    >>> round(linear_log_evidence(np.ones((1, 1)), np.zeros(1), sigma=1.0, alpha=1.0), 6)  # -ln(2π·2)/2
    -1.265512
    """
    return _Profile(x, y).log_evidence(sigma, alpha)


class EvidenceMaximiser(NamedTuple):
    """Prior precision α and noise σ where the evidence is largest; γ = Σ s²/(s² + ασ²) weights are determined by data.

    Inside the search range α‖m‖² = γ holds there, m the posterior mean (MacKay 1992).
    """

    alpha: float
    sigma: float
    log_evidence: float
    effective_parameters: float


def maximise_linear_evidence(
    x: Inputs, y: Targets, *, sigma: float | None = None, reach: float = 1e8
) -> EvidenceMaximiser:
    """The α (and σ, if it is not given) that maximise the evidence of the linear model.

    For each ratio λ = ασ² the best σ is known: σ² = yᵀ(I + XXᵀ/λ)⁻¹y/n, so that one number is sought.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 50))
    >>> found = maximise_linear_evidence(x, x @ rng.normal(size=50) / 2 + rng.normal(size=2000))
    >>> 2.0 < found.alpha < 8.0, 0.95 < found.sigma < 1.05
    (True, True)
    """
    from scipy.optimize import minimize_scalar

    profile = _Profile(x, y)
    if not profile.square > 0:
        raise ValueError("The targets are all 0; the evidence has no maximum: give others.")

    def at(log_ratio: float) -> tuple[float, float]:
        """α and σ at the ratio ασ² = e^log_ratio."""
        ratio = math.exp(log_ratio)
        best = math.sqrt(max(profile.whitened(ratio), 1e-300) / profile.rows) if sigma is None else sigma
        return ratio / best**2, best

    def cost(log_ratio: float) -> float:
        alpha, noise = at(log_ratio)
        return -profile.log_evidence(noise, alpha)

    middle = 2 * math.log(max(profile.values.max(initial=0.0), 1e-150))
    nodes = np.linspace(middle - math.log(reach) * 1.5, middle + math.log(reach), 80)
    first = int(np.argmin([cost(node) for node in nodes]))
    ends = nodes[max(first - 1, 0)], nodes[min(first + 1, len(nodes) - 1)]
    best = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    alpha, noise = at(best)
    return EvidenceMaximiser(alpha, noise, -cost(best), profile.determined(alpha * noise**2))


class _Profile:
    """The singular values of X and the targets in its basis: the evidence for any σ, α in O(d)."""

    def __init__(self, x: Inputs, y: Targets):
        x, y = np.asarray(x, float), np.asarray(y, float)
        if x.ndim != 2 or y.shape != (len(x),):
            raise ValueError(f"The evidence got inputs {x.shape} and targets {y.shape}; give (n, d) and (n,).")
        u, self.values, _ = np.linalg.svd(x, full_matrices=False)
        self.rows, self.dim = x.shape
        self.along = u.T @ y
        self.square = float(y @ y)
        self.beyond = float(np.sum((y - u @ self.along) ** 2))

    def whitened(self, ratio: float) -> float:
        """yᵀ(I + XXᵀ/λ)⁻¹y."""
        return self.beyond + float(np.sum(self.along**2 / (1 + self.values**2 / ratio)))

    def determined(self, ratio: float) -> float:
        return float(np.sum(self.values**2 / (self.values**2 + ratio)))

    def log_evidence(self, sigma: float, alpha: float) -> float:
        if not (sigma > 0 and alpha > 0):
            raise ValueError(f"The evidence got sigma {sigma} and precision {alpha}; both must be above 0.")
        ratio = alpha * sigma**2
        logdet = self.rows * math.log(2 * math.pi * sigma**2) + float(np.sum(np.log1p(self.values**2 / ratio)))
        return -0.5 * (logdet + self.whitened(ratio) / sigma**2)
