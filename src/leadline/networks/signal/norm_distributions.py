"""The exact law of the norm of a signal in a random linear or ReLU network of one width, with Gaussian weights."""

from dataclasses import dataclass
from math import comb

import numpy as np


@dataclass(frozen=True)
class NormDistribution:
    """The distribution of ‖x_L‖²/‖x_0‖² for x_l = φ(W_l x_{l-1}), W_l of size n x n of N(0, g²/n), φ linear or ReLU.

    Each layer multiplies the squared norm by an independent (g²/n) χ²_K, with K = n for linear units and K binomial
    (n, 1/2) for ReLU. Hence E‖x_L‖² = (g²)^L or (g²/2)^L, and E‖x_L‖⁴ = (1 + 2/n)^L or (1 + 5/n)^L where the mean
    is preserved: the typical norm lies below the mean.

    >>> law = NormDistribution(64, 20)
    >>> law.moment(1), round(law.moment(2), 2), round(law.log_mean, 3)
    (1.0, 1.85, -0.314)
    >>> round(NormDistribution(64, 20, "relu", gain=2**0.5).moment(2), 2)
    4.5
    """

    width: int
    depth: int
    activation: str = "identity"
    gain: float = 1.0

    def __post_init__(self):
        if self.width < 1 or self.depth < 0:
            raise ValueError(f"NormDistribution got width {self.width} and depth {self.depth}; give n ≥ 1 and L ≥ 0.")
        if self.activation not in ("identity", "relu"):
            raise ValueError(f"NormDistribution knows 'identity' and 'relu', not {self.activation!r}.")

    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of units that can be active in a layer, and their probabilities."""
        if self.activation == "identity":
            return np.array([self.width]), np.array([1.0])
        k = np.arange(self.width + 1)
        return k, np.array([comb(self.width, int(i)) / 2**self.width for i in k])

    def moment(self, power: int) -> float:
        """E (‖x_L‖²/‖x_0‖²)^power."""
        k, p = self._counts()
        rising = np.prod([(k + 2 * j) / self.width for j in range(power)], axis=0)
        return float((self.gain ** (2 * power) * (p @ rising)) ** self.depth)

    def deviation(self, power: int = 1) -> float:
        """The standard deviation of (‖x_L‖²/‖x_0‖²)^power."""
        return float(np.sqrt(self.moment(2 * power) - self.moment(power) ** 2))

    def skewness(self, power: int = 1) -> float:
        """The skewness of (‖x_L‖²/‖x_0‖²)^power: for a mean of N draws to be nearly normal it must be far below √N."""
        m1, m2, m3 = (self.moment(power * j) for j in (1, 2, 3))
        return float((m3 - 3 * m1 * m2 + 2 * m1**3) / self.deviation(power) ** 3)

    @property
    def log_mean(self) -> float:
        """E log(‖x_L‖²/‖x_0‖²), given that some unit is active in every layer."""
        from scipy.special import digamma

        return self.depth * self._mixture(lambda k: np.log(2 * self.gain**2 / self.width) + digamma(k / 2))

    @property
    def log_deviation(self) -> float:
        """The standard deviation of log(‖x_L‖²/‖x_0‖²), given that some unit is active in every layer."""
        from scipy.special import digamma, polygamma

        mean = self._mixture(lambda k: digamma(k / 2))
        return float(np.sqrt(self.depth * self._mixture(lambda k: polygamma(1, k / 2) + (digamma(k / 2) - mean) ** 2)))

    def _mixture(self, f) -> float:
        k, p = self._counts()
        k, p = k[k > 0], p[k > 0]
        return float(f(k) @ p / p.sum())
