"""Learning tasks: a distribution that can be sampled and integrated, a class of functions, a loss and an algorithm."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator

from .risk.distributions import Distribution, Sample
from .risk.erm import RiskMinimum, minimise_risk
from .risk.hypotheses import LinearClass


@dataclass(frozen=True)
class LearningTask:
    """A task (F, L, A) with the distribution of its examples: the algorithm A maps any sample to a member of F.

    `hypotheses` is a class of functions linear in its parameters, `loss` one that `minimise_risk` knows; A is
    empirical risk minimisation unless another map (features, targets) → parameters is given.

    >>> import jax
    >>> from leadline.learning import UniformInputs, RegressionDistribution, noise_distribution, polynomials
    >>> law = RegressionDistribution(lambda x: x[..., 0] ** 2, UniformInputs(), noise_distribution("gaussian", 1e-9))
    >>> task = LearningTask(law, polynomials(2))
    >>> train, test = task.draw(20, 5, key=jax.random.key(0))
    >>> bool(abs(task.learn(train)(test.x) - test.y).max() < 1e-6)
    True
    """

    law: Distribution
    hypotheses: LinearClass
    loss: str = "squared"
    algorithm: Callable[..., Any] | None = None

    def draw(self, *sizes: int, key: PRNGKeyArray) -> Iterator[Sample]:
        """Independent samples of the given sizes, a training and a test set say."""
        rng = generator(key)
        return (self.law.draw((size,), rng) for size in sizes)

    def minimum(self, sample: Sample) -> RiskMinimum:
        """The empirical risk minimiser over the class, with its certificate."""
        return minimise_risk(self.hypotheses.features(sample.x), sample.y, loss=self.loss)

    def learn(self, sample: Sample) -> "Learned":
        """A(Z): what the algorithm makes of a sample."""
        if self.algorithm is None:
            return Learned(self.hypotheses, self.minimum(sample).parameters)
        return Learned(self.hypotheses, self.algorithm(self.hypotheses.features(sample.x), sample.y))


class Learned(NamedTuple):
    """A member of a class of functions: x ↦ Σₖ θₖ φₖ(x)."""

    hypotheses: LinearClass
    parameters: Num[Array | np.ndarray, " p"]

    def __call__(self, x: Num[Array | np.ndarray, "*n d"]) -> Float[Array | np.ndarray, "*n"]:
        return self.hypotheses.predict(self.parameters, x)
