"""The regression that the inequalities of convexity and smoothness are tried on, and pairs of points."""

import numpy as np

from leadline import optimisation

FEATURES = 4
PAIRS = 10_000


def logistic_problem(rng: np.random.Generator, penalty: float, samples: int = 30) -> optimisation.LogisticRidge:
    """Logistic regression with a ridge on Gaussian inputs and noisy labels."""
    x = rng.normal(size=(samples, FEATURES))
    labels = np.where(x @ rng.normal(size=FEATURES) + rng.normal(size=samples) > 0, 1.0, -1.0)
    return optimisation.LogisticRidge(x, labels, penalty)


def random_pairs(rng: np.random.Generator, radius: float, dimension: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """PAIRS pairs: half of them anywhere in a box of half-width `radius`, half of them near each other."""
    first, second = rng.uniform(-radius, radius, (2, PAIRS, dimension))
    near = np.arange(PAIRS) % 2 == 1
    reach = radius * 10 ** rng.uniform(-2, 0, PAIRS)
    second[near] = first[near] + (reach[:, None] * rng.normal(size=first.shape) / np.sqrt(dimension))[near]
    return first, second
