"""The invariant law of SGD on two parabolas (w ∓ 1)²/2: a random series of signs, from Cantor to normal."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.data import generator


@dataclass(frozen=True)
class BernoulliConvolution:
    """The law of Σ_k η(1−η)^k s_k, s_k the mean of b fair signs: where w⁺ = (1 − η)w + η s settles.

    With b = 1 it is uniform on [−1, 1] at η = ½ and the Cantor law at η = ⅔ (Jessen and Wintner 1935); every such law
    is either continuous with a density or singular.

    >>> law = BernoulliConvolution(0.5)
    >>> round(law.variance, 6), round(law.kurtosis, 6)  # of the uniform law
    (0.333333, 1.8)
    """

    eta: float
    batch: int = 1

    def __post_init__(self):
        if not 0 < self.eta < 1 or self.batch < 1:
            raise ValueError(f"BernoulliConvolution got η = {self.eta}, b = {self.batch}; give 0 < η < 1 and b ≥ 1.")

    @property
    def variance(self) -> float:
        """η/(b(2 − η))."""
        return self.eta / (2 - self.eta) / self.batch

    @property
    def excess_kurtosis(self) -> float:
        """κ₄/κ₂² with κ₄ = −2η⁴/(b³(1 − (1−η)⁴)): the fourth cumulants of the terms add up."""
        cumulant = -2 * self.eta**4 / (1 - (1 - self.eta) ** 4) / self.batch**3
        return cumulant / self.variance**2

    @property
    def kurtosis(self) -> float:
        return 3 + self.excess_kurtosis

    @property
    def dimension(self) -> float:
        """log 2/log(1/(1−η)), at most 1: the similarity dimension of the support for b = 1."""
        return min(1.0, float(np.log(2) / -np.log(1 - self.eta)))

    def cdf(self, points: int = 4001) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
        """A grid on [−1, 1] and F on it, from F(w) = E F((w − ηs)/(1 − η)) iterated on the grid from the normal law.

        >>> grid, values = BernoulliConvolution(0.5).cdf(401)
        >>> bool(np.abs(values - (1 + grid) / 2).max() < 1e-3)  # uniform
        True
        """
        from scipy.special import bdtr, ndtr

        grid = np.linspace(-1, 1, points)
        values = ndtr(grid / np.sqrt(self.variance))
        heads = np.arange(self.batch + 1)
        chances = np.diff(bdtr(heads, self.batch, 0.5), prepend=0.0)
        signs = 2 * heads / self.batch - 1
        for _ in range(int(np.ceil(np.log(1e-9) / np.log(1 - self.eta)))):
            images = ((grid - self.eta * sign) / (1 - self.eta) for sign in signs)
            shares = zip(chances, images, strict=True)
            parts = [chance * np.interp(image, grid, values, left=0.0, right=1.0) for chance, image in shares]
            values = np.asarray(sum(parts))
        return grid, values

    def sample(self, size: int, *, key: PRNGKeyArray) -> Float[np.ndarray, " size"]:
        """Independent draws, the series cut where its terms are below 1e−15.

        >>> import jax
        >>> bool(np.abs(BernoulliConvolution(0.3).sample(10, key=jax.random.key(0))).max() <= 1)
        True
        """
        rng = generator(key)
        terms = int(np.ceil(np.log(1e-15) / np.log(1 - self.eta)))
        w = np.zeros(size)
        for _ in range(terms):
            if self.batch == 1:
                sign = 2.0 * np.unpackbits(np.frombuffer(rng.bytes(size // 8 + 1), np.uint8))[:size] - 1
            else:
                sign = 2.0 * rng.binomial(self.batch, 0.5, size) / self.batch - 1
            w = (1 - self.eta) * w + self.eta * sign
        return w
