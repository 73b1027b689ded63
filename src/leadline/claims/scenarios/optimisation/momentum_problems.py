"""Small convex problems in NumPy on which momentum is run: logistic regression, Huber and Lessard's function."""

import numpy as np
from scipy.special import expit

from leadline import optimisation


def logistic_problem(rng, samples=60, dim=4):
    """Ridge-logistic regression on Gaussian inputs, and its gradient in NumPy for one batch of rows or all."""
    x = rng.normal(size=(samples, dim))
    y = np.sign(x @ rng.normal(size=dim) + rng.normal(size=samples))
    objective = optimisation.LogisticRidge(x, y, 0.05)

    def gradient(w, rows=slice(None)):
        a, b = x[rows], y[rows]
        return -a.T @ (b * expit(-b * (a @ w))) / len(b) + 0.05 * w

    return objective, gradient, float(np.linalg.norm(x, 2) ** 2 / (4 * samples) + 0.05)


def lessard_slope(w):
    """Lessard's gradient; see `optimisation.Lessard`."""
    return np.where(w < 1, 25 * w, np.where(w < 2, w + 24, 25 * w - 24))


def lessard_value(w):
    return np.where(w < 1, 12.5 * w**2, np.where(w < 2, w**2 / 2 + 24 * w - 12, 12.5 * w**2 - 24 * w + 36))


def huber_gap(points, knee):
    inside = np.clip(points, -knee, knee)
    return inside * (points - inside / 2)


def noisy_logistic(rng, penalty=0.0):
    """Logistic regression with labels at random (not separable): value and gradient, L, w* and l*."""
    from scipy.optimize import minimize

    x, y = rng.normal(size=(80, 3)), rng.choice([-1.0, 1.0], size=80)

    def value(w):
        return np.mean(np.logaddexp(0, -y * (w @ x.T)), axis=-1) + penalty * np.sum(w**2, axis=-1) / 2

    def gradient(w):
        return -(y * expit(-y * (x @ w))) @ x / 80 + penalty * w

    best = minimize(value, np.zeros(3), jac=gradient, method="BFGS", options={"gtol": 1e-12}).x
    smoothness = float(np.linalg.norm(x, 2) ** 2 / 320 + penalty)
    return value, gradient, smoothness, best
