"""Gaussian posteriors aligned with the Fisher eigenbasis, their divergence from the prior, and PAC-Bayes certificates.

The prior is N(w₀, a²I), w₀ independent of the training data (an initialisation). The posterior is centred at the
trained weights; along eigenvector k of g its deviation is sₖ, in all other directions a.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from .fisher_spectra import FisherSpectrum


@dataclass(frozen=True)
class AlignedPosterior:
    """N(mean, Σₖ sₖ²vₖvₖᵀ + a²(I − Σₖ vₖvₖᵀ)) against the prior N(start, a²I); `vectors` are orthonormal rows."""

    mean: Float[np.ndarray, " p"]
    start: Float[np.ndarray, " p"]
    vectors: Float[np.ndarray, "k p"]
    deviations: Float[np.ndarray, " k"]
    prior_deviation: float

    def costs(self) -> tuple[Float[np.ndarray, " k"], float]:
        """½[s²/a² − 1 − ln(s²/a²) + d²/a²] of each aligned direction, and the sum ½d²/a² of all the others."""
        moved = self.mean - self.start
        along = self.vectors @ moved
        ratio = (self.deviations / self.prior_deviation) ** 2
        aligned = 0.5 * (ratio - 1 - np.log(ratio) + (along / self.prior_deviation) ** 2)
        rest = 0.5 * max(float(moved @ moved - along @ along), 0.0) / self.prior_deviation**2
        return aligned, rest

    def kl(self) -> float:
        """KL(posterior ‖ prior), exactly."""
        aligned, rest = self.costs()
        return float(aligned.sum()) + rest

    def stiff_directions(self, share: float = 0.9) -> int:
        """How many directions the posterior narrows to below `share` of the prior deviation."""
        return int(np.sum(self.deviations < share * self.prior_deviation))

    def sample(self, noise: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "m p"]:
        """Weights from the posterior, made from standard normal `noise`."""
        shrunk = (noise @ self.vectors.T) * (self.deviations / self.prior_deviation - 1)
        return self.mean + self.prior_deviation * (noise + shrunk @ self.vectors)


def aligned_posterior(
    spectrum: FisherSpectrum,
    mean: Float[np.ndarray | Array, " p"],
    start: Float[np.ndarray | Array, " p"],
    prior_deviation: float,
    strength: float,
) -> AlignedPosterior:
    """sₖ² = 1/(1/a² + c λₖ), which minimises (c/2) Σ λₖsₖ² + KL: expected quadratic loss rise against its price.

    >>> from leadline.sloppiness import fisher_spectrum
    >>> q = aligned_posterior(fisher_spectrum(np.diag([1.0, 0.0])), np.zeros(2), np.zeros(2), 1.0, 3.0)
    >>> q.deviations.tolist(), round(q.kl(), 6)
    ([0.5, 1.0], 0.318147)
    """
    mean, start = np.asarray(mean, float), np.asarray(start, float)
    if mean.shape != (spectrum.size,) or start.shape != mean.shape:
        raise ValueError(
            f"Mean {mean.shape} and start {start.shape} do not fit {spectrum.size} parameters; give both flat."
        )
    if not prior_deviation > 0 or not strength >= 0:
        raise ValueError(f"Got deviation {prior_deviation} and strength {strength}; give a > 0 and c >= 0.")
    deviations = 1 / np.sqrt(1 / prior_deviation**2 + strength * spectrum.eigenvalues)
    return AlignedPosterior(mean, start, spectrum.vectors, deviations, float(prior_deviation))


def isotropic_kl(
    mean: Float[np.ndarray | Array, " p"],
    start: Float[np.ndarray | Array, " p"],
    prior_deviation: float,
    deviation: float,
) -> float:
    """KL(N(mean, s²I) ‖ N(start, a²I)) = ½[p(s²/a² − 1 − ln(s²/a²)) + ‖mean − start‖²/a²].

    >>> isotropic_kl(np.ones(2), np.zeros(2), 1.0, 1.0)
    1.0
    """
    moved = np.asarray(mean, float) - np.asarray(start, float)
    ratio = (deviation / prior_deviation) ** 2
    return float(0.5 * (moved.size * (ratio - 1 - np.log(ratio)) + moved @ moved / prior_deviation**2))


def binary_kl_inverse(rate: float, budget: float) -> float:
    """The largest q with kl(rate ‖ q) = rate ln(rate/q) + (1 − rate) ln((1 − rate)/(1 − q)) <= budget, by bisection.

    >>> round(binary_kl_inverse(0.0, np.log(2)), 12)
    0.5
    """
    if not 0 <= rate <= 1 or not budget >= 0:
        raise ValueError(f"Got rate {rate} and budget {budget}; give a rate in [0, 1] and a budget >= 0.")
    low, high = rate, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            spent = (rate * np.log(rate / middle) if rate > 0 else 0.0) + (
                (1 - rate) * np.log((1 - rate) / (1 - middle)) if rate < 1 else 0.0
            )
        low, high = (middle, high) if spent <= budget else (low, middle)
    return high


def pac_bayes_bound(
    errors: Float[np.ndarray, " m"], kl: float, samples: int, *, confidence: float = 0.95, choices: int = 1
) -> float:
    """A bound on the expected test error of a network drawn from the posterior, that holds with the given confidence
    over the training set and the draws (Seeger 2002, Maurer 2004, Langford and Caruana 2001).

    `errors` are the training errors of m independent draws. With half of δ = 1 − confidence the training error of the
    posterior is at most kl⁻¹(mean error | ln(1/δ′)/m), and with the other half its test error is at most
    kl⁻¹(that | (KL + ln(2√n/δ′))/n); δ′ = δ/(2 choices) where the best of several (priors and posteriors) is reported.

    >>> round(pac_bayes_bound(np.zeros(1000), 10.0, 1000), 2)
    0.03
    """
    errors = np.asarray(errors, float)
    if errors.size == 0 or errors.min() < 0 or errors.max() > 1:
        raise ValueError("The errors must be at least one rate in [0, 1]; give the training error of each draw.")
    if samples < 1 or not 0 < confidence < 1 or choices < 1 or not kl >= 0:
        raise ValueError("Give samples >= 1, 0 < confidence < 1, choices >= 1 and kl >= 0.")
    delta = (1 - confidence) / (2 * choices)
    training = binary_kl_inverse(float(errors.mean()), np.log(1 / delta) / errors.size)
    return binary_kl_inverse(training, (kl + np.log(2 * np.sqrt(samples) / delta)) / samples)


def parameter_count_bound(
    training_error: float, parameters: int, samples: int, *, bits: int = 32, confidence: float = 0.95
) -> float:
    """min(1, error + √((bits p ln 2 + ln(1/δ))/(2n))): Hoeffding's inequality over all networks with p weights of so
    many bits; it counts parameters and nothing else.

    >>> parameter_count_bound(0.0, 2410, 1297)
    1.0
    """
    if parameters < 1 or samples < 1 or not 0 < confidence < 1:
        raise ValueError("Give parameters >= 1, samples >= 1 and 0 < confidence < 1.")
    width = np.sqrt((bits * parameters * np.log(2) + np.log(1 / (1 - confidence))) / (2 * samples))
    return float(min(1.0, training_error + width))
