"""Gaussian posteriors aligned with the Fisher eigenbasis, and their divergence from the prior.

The prior is N(w₀, a²I), w₀ independent of the training data (an initialisation). The posterior is centred at the
trained weights; along eigenvector k of g its deviation is sₖ, in all other directions a. What follows for the error on
new data: `leadline.generalisation.sampled_pac_bayes_bound`.
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

    >>> from leadline.landscape.sloppiness import fisher_spectrum
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
