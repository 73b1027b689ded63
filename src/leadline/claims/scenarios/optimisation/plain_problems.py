"""The library's objectives as NumPy functions with their constants, and fixed-step descent: nothing is compiled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leadline.optimisation import LeastSquares, LogisticRidge

Point = np.ndarray
Values = np.ndarray | np.floating


@dataclass(frozen=True)
class Problem:
    """l and ∇l of points in the last axis, L, m (0: convex, None: not convex), μ, w* and l*."""

    value: Callable[[Point], Values]
    gradient: Callable[[Point], Point]
    smoothness: float
    convexity: float | None
    pl: float | None
    minimiser: Point
    minimum: float

    def descent(self, start: Point, step_size: float, num_steps: int) -> Point:
        """w⁰ … w^T of gradient descent, (steps + 1, …, p)."""
        points = np.empty((num_steps + 1, *np.shape(start)))
        points[0] = start
        for t in range(num_steps):
            points[t + 1] = points[t] - step_size * self.gradient(points[t])
        return points

    def gap(self, points: Point) -> Values:
        return self.value(points) - self.minimum


def quadratic(matrix: np.ndarray) -> Problem:
    """½ wᵀAw with positive semidefinite A."""
    values = np.linalg.eigvalsh(matrix).tolist()
    constants = (values[-1], values[0], values[0], np.zeros(len(matrix)), 0.0)
    return Problem(lambda w: np.sum(w * (w @ matrix), -1) / 2, lambda w: w @ matrix, *constants)


def drawn_quadratic(rng: np.random.Generator, dimension: int, condition: float) -> Problem:
    """Eigenvalues from 1 to κ, evenly in the logarithm, in a random basis."""
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    return quadratic((basis * np.geomspace(1.0, condition, dimension)) @ basis.T)


def least_squares(x: np.ndarray, y: np.ndarray, penalty: float = 0.0) -> Problem:
    """(1/2n)‖y − Xw‖² + (a/2)‖w‖²."""
    n, known = len(y), LeastSquares(x, y, penalty).constants()
    return Problem(
        lambda w: np.sum((w @ x.T - y) ** 2, -1) / (2 * n) + penalty * np.sum(w**2, -1) / 2,
        lambda w: (w @ x.T - y) @ x / n + penalty * w,
        *(known.smoothness, known.strong_convexity, known.pl, known.minimiser, known.minimum),
    )


def logistic(x: np.ndarray, y: np.ndarray, penalty: float) -> Problem:
    """(1/n) Σ log(1 + exp(−yᵢ xᵢ·w)) + (a/2)‖w‖², a > 0."""
    n, known, signed = len(y), LogisticRidge(x, y, penalty).constants(), x * y[:, None]

    def value(w: Point) -> Values:
        return np.mean(np.logaddexp(0.0, -w @ signed.T), -1) + penalty * np.sum(w**2, -1) / 2

    def gradient(w: Point) -> Point:
        return penalty * w - np.exp(-np.logaddexp(0.0, w @ signed.T)) @ signed / n

    best = known.minimiser
    for _ in range(2):  # to the last digit, which rates near the minimum need
        s = np.exp(-np.logaddexp(0.0, -x @ best))
        best = best - np.linalg.solve((x.T * (s * (1 - s))) @ x / n + penalty * np.eye(x.shape[1]), gradient(best))
    return Problem(value, gradient, known.smoothness, known.strong_convexity, known.pl, best, float(value(best)))


def drawn_logistic(rng: np.random.Generator, samples: int, dimension: int, condition: float) -> Problem:
    """Two overlapping Gaussian clouds; the penalty gives certified L/m = κ."""
    y = rng.choice([-1.0, 1.0], samples)
    x = rng.normal(size=(samples, dimension)) + 0.7 * y[:, None] / np.sqrt(dimension)
    return logistic(x, y, float(np.linalg.norm(x, 2) ** 2 / (4 * samples)) / (condition - 1))


def sine_parabola() -> Problem:
    """x² + 3 sin² x: not convex, PL."""
    constants = (8.0, None, 0.17553, np.zeros(1), 0.0)
    return Problem(lambda w: np.sum(w**2 + 3 * np.sin(w) ** 2, -1), lambda w: 2 * w + 3 * np.sin(2 * w), *constants)


def log_cosh() -> Problem:
    """log cosh x: convex, L = 1."""
    return Problem(lambda w: np.sum(np.logaddexp(w, -w) - np.log(2), -1), np.tanh, 1.0, 0.0, None, np.zeros(1), 0.0)


def huber(knee: float) -> Problem:
    """w²/2 up to the knee, straight beyond: convex, L = 1."""

    def value(w: Point) -> Values:
        inside = np.clip(w, -knee, knee)
        return np.sum(inside * (w - inside / 2), -1)

    return Problem(value, lambda w: np.clip(w, -knee, knee), 1.0, 0.0, None, np.zeros(1), 0.0)


def quartic(radius: float) -> Problem:
    """‖w‖⁴/4 on the ball of the radius: convex, L = 3 radius² there."""
    constants = (3 * radius**2, 0.0, None, np.zeros(1), 0.0)
    return Problem(lambda w: np.sum(w**2, -1) ** 2 / 4, lambda w: np.sum(w**2, -1, keepdims=True) * w, *constants)


def double_well(tilt: float = 0.1) -> Problem:
    """(w² − 1)²/4 + tilt w; L is that of the interval [−1.3, 1.3]."""

    def value(w: Point) -> Values:
        return np.sum((w**2 - 1) ** 2 / 4 + tilt * w, -1)

    best = np.roots([1.0, 0.0, -1.0, tilt]).real.min(keepdims=True)
    return Problem(value, lambda w: w**3 - w + tilt, 3 * 1.3**2 - 1, None, None, best, float(value(best)))


def chain(links: int) -> Problem:
    """Nesterov's worst chain with L = 1."""
    best = 1 - np.arange(1, links + 1) / (links + 1)

    def stiff(w: Point) -> Point:
        wide = np.pad(w, [(0, 0)] * (w.ndim - 1) + [(1, 1)])
        return 2 * w - wide[..., :-2] - wide[..., 2:]

    def gradient(w: Point) -> Point:
        g = stiff(w) / 4
        g[..., 0] -= 0.25
        return g

    m = (1 - np.cos(np.pi / (links + 1))) / 2
    constants = (1.0, m, m, best, -links / (8 * (links + 1)))
    return Problem(lambda w: (np.sum(w * stiff(w), -1) / 2 - w[..., 0]) / 4, gradient, *constants)
