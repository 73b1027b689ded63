"""Momentum under multiplicative noise: the exact maps of second moments, their stability and their best rate.

On decoupled coordinates of curvature h the stochastic gradient is h q w with E q = 1 and E q² = K, independent at each
step (one example of a one-hot design with probability p: K = 1/p; a Gaussian factor besides: 3/p; batches of b:
1 + (K − 1)/b). With x = ηh the moments (E wₜ², E wₜwₜ₋₁, E wₜ₋₁²) follow a 3 × 3 map.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Method = str  # one of METHODS
METHODS = ("sgd", "heavy ball", "nesterov")


def batch_noise(second_moment: float, batch: int) -> float:
    """E q̄² of the mean of b independent factors: 1 + (K − 1)/b.

    >>> batch_noise(3.0, 4)
    1.5
    """
    if second_moment < 1 or batch < 1:
        raise ValueError(f"K = {second_moment:g} and batch = {batch}: E q² is at least (E q)² = 1, a batch at least 1.")
    return 1 + (second_moment - 1) / batch


def second_moment_map(
    method: Method,
    scaled_step: Float[np.ndarray, "..."] | float,
    momentum: Float[np.ndarray, "..."] | float,
    noise: float,
) -> Float[np.ndarray, "... 3 3"]:
    """The map of (E wₜ², E wₜwₜ₋₁, E wₜ₋₁²) in one step, x = ηh, K = `noise`; it broadcasts over x and ρ.

    Heavy ball: wₜ₊₁ = (1 + ρ − xq)wₜ − ρwₜ₋₁. Nesterov: wₜ₊₁ = (1 − xq)((1 + ρ)wₜ − ρwₜ₋₁). SGD: ρ = 0.

    >>> float(second_moment_map("sgd", 0.5, 0.0, 2.0)[0, 0])  # 1 − 2x + Kx²
    0.5
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; give one of {', '.join(METHODS)}.")
    if noise < 1:
        raise ValueError(f"noise is E q² = {noise:g}; with E q = 1 it is at least 1.")
    x, rho = np.broadcast_arrays(np.asarray(scaled_step, float), np.asarray(momentum, float))
    if method == "sgd":
        rho = np.zeros_like(rho)
    lead = 1 + rho
    if method == "nesterov":
        once, twice = 1 - x, 1 - 2 * x + noise * x**2
        rows = [[twice * lead**2, -2 * rho * lead * twice, rho**2 * twice], [once * lead, -rho * once, 0 * x]]
    else:
        once, twice = lead - x, lead**2 - 2 * lead * x + noise * x**2
        rows = [[twice, -2 * rho * once, rho**2], [once, -rho, 0 * x]]
    rows.append([np.ones_like(x), 0 * x, 0 * x])
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def mean_square_factor(
    method: Method,
    scaled_step: Float[np.ndarray, "..."] | float,
    momentum: Float[np.ndarray, "..."] | float,
    noise: float,
) -> Float[np.ndarray, "..."]:
    """The spectral radius of the map: E w² falls by this factor per step in the long run; stable means below 1.

    >>> round(float(mean_square_factor("heavy ball", 0.1, 0.0, 1.0)), 9)  # (1 − x)²
    0.81
    """
    return np.asarray(
        np.max(np.abs(np.linalg.eigvals(second_moment_map(method, scaled_step, momentum, noise))), axis=-1)
    )


def heavy_ball_limit(momentum: float, noise: float) -> float:
    """The x = ηh below which heavy ball is mean-square stable: 2(1 − ρ²)/((1 − ρ) + (1 + ρ)(K − 1)).

    >>> heavy_ball_limit(0.5, 1.0), heavy_ball_limit(0.0, 2.0)  # 2(1 + ρ) without noise, 2/K without momentum
    (3.0, 1.0)
    """
    return 2 * (1 - momentum**2) / ((1 - momentum) + (1 + momentum) * (noise - 1))


def nesterov_limit(noise: float) -> float:
    """The x below which Nesterov's method stays mean-square stable as ρ → 1: 2(3 − K)/(3K), and 0 from K = 3 on.

    >>> nesterov_limit(1.0), nesterov_limit(3.0)
    (1.3333333333333333, 0.0)
    """
    return max(0.0, 2 * (3 - noise) / (3 * noise))


class BestTuning(NamedTuple):
    """The least worst factor over curvatures in [1/κ, 1], and the step (times the top curvature) and ρ that give it."""

    factor: float
    step: float
    momentum: float


def best_tuning(method: Method, condition: float, noise: float) -> BestTuning:
    """min over (η, ρ) of the larger mean-square factor of the two end curvatures, by a grid and a simplex search.

    >>> round(best_tuning("sgd", 100.0, 2.0).factor, 4)
    0.9804
    """
    if condition < 1:
        raise ValueError(f"condition is {condition:g}; a condition number is at least 1.")
    from scipy.optimize import minimize

    ends = np.array([1.0, 1 / condition])

    def worst(step: np.ndarray, slack: np.ndarray) -> np.ndarray:
        return mean_square_factor(method, step[:, None] * ends, (1 - slack)[:, None], noise).max(1)

    if method == "sgd":
        step = 2 / (noise * (1 + 1 / condition))  # where both ends have the same factor
        return BestTuning(float(worst(np.array([step]), np.ones(1))[0]), step, 0.0)
    low, high = np.log([0.01, 0.1 / np.sqrt(condition) / noise]), np.log([3.9, 1.0])
    centre, width = (low + high) / 2, (high - low) / 2
    for _ in range(5):
        axes = [
            np.exp(np.linspace(max(c - r, a), min(c + r, b), 15))
            for c, r, a, b in zip(centre, width, low, high, strict=True)
        ]
        step, slack = (g.ravel() for g in np.meshgrid(*axes))
        i = int(np.argmin(worst(step, slack)))
        centre, width = np.log([step[i], slack[i]]), width / 3
    found = minimize(  # the valley is bent and has a kink: polish
        lambda v: float(worst(np.exp(v[:1]), np.exp(np.minimum(v[1:], 0.0)))[0]),
        centre,
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-12, "maxiter": 120},
    )
    return BestTuning(float(found.fun), float(np.exp(found.x[0])), float(1 - np.exp(min(found.x[1], 0.0))))
