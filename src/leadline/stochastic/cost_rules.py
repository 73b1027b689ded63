"""Which is cheaper, gradient descent or SGD, counted in gradients of single examples."""

from typing import NamedTuple


class ConvexCosts(NamedTuple):
    """Component gradients to accuracy ε for a convex loss, and the cheaper method."""

    descent: float
    stochastic: float
    cheaper: str


def crossover_accuracy(samples: int, *, smoothness: float = 1.0, gradient_bound: float = 1.0) -> float:
    """ε* = 2B²/(nL), at which both cost the same: gradient descent is cheaper below, SGD above.

    >>> crossover_accuracy(1000)
    0.002
    """
    return 2 * gradient_bound**2 / (samples * smoothness)


def convex_costs(
    samples: int, accuracy: float, *, smoothness: float = 1.0, radius: float = 1.0, gradient_bound: float = 1.0
) -> ConvexCosts:
    """nLR²/(2ε) for gradient descent with step 1/L, (RB/ε)² for averaged SGD with step R/(B√T).

    Upper bounds, both attained up to constants on hard instances: advice, not a promise for an easy problem.

    >>> convex_costs(1000, 0.01).cheaper, convex_costs(1000, 0.0001).cheaper
    ('SGD', 'gradient descent')
    """
    if samples < 1 or min(accuracy, smoothness, radius, gradient_bound) <= 0:
        raise ValueError("convex_costs needs samples ≥ 1 and positive accuracy, smoothness, radius and gradient bound.")
    descent = samples * smoothness * radius**2 / (2 * accuracy)
    stochastic = (radius * gradient_bound / accuracy) ** 2
    return ConvexCosts(descent, stochastic, "gradient descent" if descent < stochastic else "SGD")
