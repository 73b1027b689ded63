"""Distributions of (x, y) on finitely many values: every risk is a finite sum, hence exact."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require
from leadline.learning.regression.quantile import discrete_quantile
from leadline.learning.risk.distributions import Loss, Sample, pointwise_loss


class RiskSplit(NamedTuple):
    """R(f) = E (f − f*)² + E (f* − y)² + 2 E (f − f*)(f* − y), the last of which is 0."""

    distance: float
    floor: float
    cross: float

    @property
    def risk(self) -> float:
        return self.distance + self.floor + 2 * self.cross


class FiniteDistribution(NamedTuple):
    """P(x) on k inputs and P(y|x) on v values; a function of x is the array of its k values."""

    inputs: Float[np.ndarray, " k"]
    values: Float[np.ndarray, " v"]
    conditional: Float[np.ndarray, "k v"]

    def risk(self, f: Real[Array | np.ndarray, " k"], loss: Loss = "squared") -> float:
        """E l(f(x), y), the sum over all pairs."""
        return float(self.inputs @ self.conditional_risk(np.asarray(f), loss))

    def conditional_risk(
        self, f: Real[Array | np.ndarray, "*batch k"], loss: Loss = "squared"
    ) -> Float[np.ndarray, "*batch k"]:
        """E[l(f(x), y) | x] for each x."""
        losses = np.asarray(pointwise_loss(loss)(np.asarray(f)[..., None], self.values), float)
        return (losses * self.conditional).sum(axis=-1)

    def mean(self) -> Float[np.ndarray, " k"]:
        """E[y|x], the best prediction under squared loss."""
        return self.conditional @ self.values

    def quantile(self, tau: float = 0.5) -> Float[np.ndarray, " k"]:
        """The τ-quantile of y given x, best under the pinball loss; τ = ½, the median, under absolute loss."""
        return np.array([float(discrete_quantile(self.values, tau, probabilities=row)) for row in self.conditional])

    def split(self, f: Real[Array | np.ndarray, " k"]) -> RiskSplit:
        """The squared risk of f around f* = E[y|x]: distance, floor and cross term, each its own sum.

        >>> coin = FiniteDistribution(np.ones(1), np.array([0.0, 1.0]), np.array([[0.5, 0.5]]))
        >>> coin.split(np.array([0.8])).distance.__round__(6), coin.split(np.array([0.8])).floor
        (0.09, 0.25)
        """
        best, f = self.mean(), np.asarray(f, float)
        joint, off = self.inputs[:, None] * self.conditional, best[:, None] - self.values
        cross = float((joint * (f - best)[:, None] * off).sum())
        return RiskSplit(float(self.inputs @ (f - best) ** 2), float((joint * off**2).sum()), cross)

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """Independent examples; x is the number of its input."""
        x = rng.choice(len(self.inputs), size=n, p=self.inputs)
        rank = (rng.random(n)[:, None] > np.cumsum(self.conditional, axis=1)[x]).sum(axis=1)
        return Sample(x[:, None], self.values[np.minimum(rank, len(self.values) - 1)])


def finite_distribution(inputs: Any, values: Any, conditional: Any) -> FiniteDistribution:
    """The distribution with these P(x), values of y, and rows P(y|x); probabilities must be that.

    >>> finite_distribution([1.0], [0.0, 2.0], [[0.25, 0.75]]).mean().tolist()
    [1.5]
    """
    p, y, q = (np.asarray(part, float) for part in (inputs, values, conditional))
    require("finite_distribution", inputs=p, values=y, conditional=q)
    if q.shape != (p.size, y.size) or p.ndim != 1 or y.ndim != 1:
        raise ValueError(f"finite_distribution got shapes {p.shape}, {y.shape}, {q.shape}; give (k,), (v,), (k, v).")
    sums = np.append(q.sum(axis=1), p.sum())
    if min(p.min(), q.min()) < 0 or np.abs(sums - 1).max() > 1e-9:
        raise ValueError("finite_distribution got rows that are no probabilities; give numbers ≥ 0 with sum 1 a row.")
    return FiniteDistribution(p, y, q)
