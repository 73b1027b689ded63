"""Momentum on quadratics: along an eigenvector every method is a 2 × 2 matrix, and its spectral radius is the rate."""

import math

import numpy as np
from jaxtyping import Float

from .step_limits import METHODS, Method, growth_factor

_LARGEST = 1 - 1e-9


def companion(method: Method, scaled_step: float, momentum: float) -> Float[np.ndarray, "2 2"]:
    """(wᵗ⁺¹, wᵗ) = C (wᵗ, wᵗ⁻¹) along curvature λ, from x = ηλ: C = [[b, −c], [1, 0]].

    Heavy ball: b = 1 + ρ − x, c = ρ. Nesterov: b = (1 + ρ)(1 − x), c = ρ(1 − x). Gradient descent: b = 1 − x, c = 0.

    >>> companion("heavy ball", 0.5, 0.25).tolist()
    [[0.75, -0.25], [1.0, 0.0]]
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; give one of {', '.join(METHODS)}.")
    x, rho = float(scaled_step), float(momentum)
    trace, product = {
        "gradient descent": (1 - x, 0.0),
        "heavy ball": (1 + rho - x, rho),
        "nesterov": ((1 + rho) * (1 - x), rho * (1 - x)),
    }[method]
    return np.array([[trace, -product], [1.0, 0.0]])


def mode_path(method: Method, scaled_step: float, momentum: float, num_steps: int) -> Float[np.ndarray, " points"]:
    """wᵗ/w⁰ along one eigenvector, from powers of the companion matrix and w⁻¹ = w⁰.

    >>> mode_path("gradient descent", 0.5, 0.0, 2).tolist()
    [1.0, 0.5, 0.25]
    """
    matrix, state, path = companion(method, scaled_step, momentum), np.ones(2), [1.0]
    for _ in range(num_steps):
        state = matrix @ state
        path.append(state[0])
    return np.array(path)


def measured_factor(
    method: Method, scaled_steps: Float[np.ndarray, " x"], momentum: float, *, num_steps: int = 6000
) -> Float[np.ndarray, " x"]:
    """The factor per step that long runs show, one along each ηλ: growth of the larger of |wᵗ|, |wᵗ⁻¹| over half of it.

    The runs are rescaled on the way, so that they neither vanish nor overflow; oscillations are taken at their crests.

    >>> measured_factor("gradient descent", np.array([0.5, 3.0]), 0.0, num_steps=200).round(9).tolist()
    [0.5, 2.0]
    """
    x = np.asarray(scaled_steps, float)
    matrices = np.stack([companion(method, float(value), momentum) for value in x])
    now, before, logs, sizes = np.ones_like(x), np.ones_like(x), np.zeros_like(x), []
    for _ in range(num_steps):
        now, before = matrices[:, 0, 0] * now + matrices[:, 0, 1] * before, now
        size = np.maximum(np.maximum(np.abs(now), np.abs(before)), 1e-300)
        now, before, logs = now / size, before / size, logs + np.log(size)
        sizes.append(logs)
    half, block, history = num_steps // 2, num_steps // 4, np.stack(sizes)
    trend = (history[-1] - history[half - 1]) / (num_steps - half)
    flat = history - trend * np.arange(num_steps)[:, None]  # crests are compared without the trend
    rise = flat[-block:].max(axis=0) - flat[half - block : half].max(axis=0)
    return np.exp(trend + rise / (num_steps - half) * (np.abs(rise) < 50))


def factor_map(
    method: Method, scaled_steps: Float[np.ndarray, " x"], momenta: Float[np.ndarray, " r"]
) -> Float[np.ndarray, "r x"]:
    """The spectral radius for every ρ (rows) and ηλ (columns).

    >>> factor_map("gradient descent", np.array([0.5, 3.0]), np.zeros(1)).tolist()
    [[0.5, 2.0]]
    """
    return np.stack([growth_factor(method, 1.0, np.asarray(scaled_steps, float), float(rho)) for rho in momenta])


def worst_factor(
    method: Method, step_size: float, momentum: float, smoothness: float, strong_convexity: float
) -> float:
    """The largest factor per step over curvatures in [m, L]; it is found at one of the two ends.

    >>> worst_factor("gradient descent", 0.25, 0.0, 4.0, 1.0)
    0.75
    """
    return float(np.max(growth_factor(method, step_size, np.array([strong_convexity, smoothness]), momentum)))


def best_momentum(method: Method, step_size: float, smoothness: float, strong_convexity: float) -> tuple[float, float]:
    """The ρ in [0, 1) with the least worst factor at this step, and that factor, by search.

    The factor falls to the best ρ like a root and rises like √ρ beyond it: one valley, found on ever finer grids.

    >>> rho, factor = best_momentum("nesterov", 1 / 100, 100.0, 1.0)
    >>> round(rho, 4), round(factor, 4)
    (0.8182, 0.9)
    """
    low, high = 0.0, _LARGEST
    for _ in range(12):
        grid = np.linspace(low, high, 41)
        factors = [worst_factor(method, step_size, float(rho), smoothness, strong_convexity) for rho in grid]
        best = int(np.argmin(factors))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 40)])
    return float(grid[best]), float(factors[best])


def steps_for_factor(factor: float, goal: float) -> float:
    """log(goal)/log(factor): after how many steps a distance that falls by `factor` each is `goal` of the first.

    >>> round(steps_for_factor(0.1, 1e-3), 9)
    3.0
    """
    if not 0 < goal < 1:
        raise ValueError(f"goal is {goal:g}; give the part of the first distance to reach, between 0 and 1.")
    return math.inf if factor >= 1 else math.log(goal) / math.log(factor)


def oscillation_angle(scaled_step: float, momentum: float) -> float:
    """θ with cos θ = (1 + ρ − ηλ)/(2√ρ): heavy ball turns by θ a step, with period 2π/θ, where it is underdamped.

    >>> round(oscillation_angle(1.0, 1.0), 4)  # 60 degrees
    1.0472
    """
    cosine = (1 + momentum - scaled_step) / (2 * math.sqrt(momentum)) if momentum > 0 else math.inf
    if abs(cosine) >= 1:
        raise ValueError(f"ηλ = {scaled_step:g}, ρ = {momentum:g} does not oscillate: (1 − √ρ)² < ηλ < (1 + √ρ)² does.")
    return math.acos(cosine)


def momentum_alignment(
    points: Float[np.ndarray, "points p"], gradients: Float[np.ndarray, "points p"]
) -> Float[np.ndarray, " moves"]:
    """cos(wᵗ − wᵗ⁻¹, −g(wᵗ)) for t = 1, 2, …: positive where inertia helps, negative where it opposes; 0 at rest.

    >>> momentum_alignment(np.array([[0.0], [1.0], [3.0]]), -np.ones((3, 1))).tolist()
    [1.0, 1.0]
    """
    points, gradients = np.asarray(points, float), np.asarray(gradients, float)
    if points.shape != gradients.shape or points.ndim != 2:
        raise ValueError(f"points {points.shape} and gradients {gradients.shape}: give two (steps + 1, p) arrays.")
    moved, force = np.diff(points, axis=0), -gradients[1:]
    sizes = np.linalg.norm(moved, axis=1) * np.linalg.norm(force, axis=1)
    return np.where(sizes > 0, np.sum(moved * force, axis=1) / np.where(sizes > 0, sizes, 1.0), 0.0)
