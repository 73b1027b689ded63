"""Random regressions and quadratics on which inequalities and rates are tried, and pairs of points."""

import numpy as np

from leadline import optimisation

FEATURES = 4
PAIRS = 10_000


def logistic_problem(
    rng: np.random.Generator, penalty: float, samples: int = 30, features: int = FEATURES
) -> optimisation.LogisticRidge:
    """Logistic regression with a ridge on Gaussian inputs and noisy labels."""
    x = rng.normal(size=(samples, features))
    labels = np.where(x @ rng.normal(size=features) + rng.normal(size=samples) > 0, 1.0, -1.0)
    return optimisation.LogisticRidge(x, labels, penalty)


def noisy_logistic(rng: np.random.Generator, penalty: float = 0.0) -> tuple[optimisation.LogisticRidge, np.ndarray]:
    """Logistic regression with labels at random (not separable), and its minimiser by SciPy."""
    from scipy.optimize import minimize

    loss = optimisation.LogisticRidge(rng.normal(size=(80, 3)), rng.choice([-1.0, 1.0], size=80), penalty)
    return loss, minimize(loss, np.zeros(3), jac=loss.gradient, method="BFGS", options={"gtol": 1e-12}).x


def drawn_logistic(
    rng: np.random.Generator, samples: int, dimension: int, condition: float
) -> optimisation.LogisticRidge:
    """Two overlapping Gaussian clouds; the penalty gives certified L/m = κ."""
    y = rng.choice([-1.0, 1.0], samples)
    x = rng.normal(size=(samples, dimension)) + 0.7 * y[:, None] / np.sqrt(dimension)
    return optimisation.LogisticRidge(x, y, float(np.linalg.norm(x, 2) ** 2 / (4 * samples)) / (condition - 1))


def drawn_quadratic(rng: np.random.Generator, dimension: int, condition: float) -> optimisation.Quadratic:
    """Eigenvalues from 1 to κ, evenly in the logarithm, in a random basis."""
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    return optimisation.spread_quadratic(dimension, condition, rotation=basis)


def random_pairs(rng: np.random.Generator, radius: float, dimension: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """PAIRS pairs: half of them anywhere in a box of half-width `radius`, half of them near each other."""
    first, second = rng.uniform(-radius, radius, (2, PAIRS, dimension))
    near = np.arange(PAIRS) % 2 == 1
    reach = radius * 10 ** rng.uniform(-2, 0, PAIRS)
    second[near] = first[near] + (reach[:, None] * rng.normal(size=first.shape) / np.sqrt(dimension))[near]
    return first, second
