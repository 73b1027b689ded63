"""Losses of small networks, and two of them trained to the same task from different starts, without compilation."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.optimisation.objectives.any_loss import FlatLoss


def network_loss(weights: dict, x, y, xp=jnp):
    """Half the mean squared error of c·tanh(a x + b) on inputs x (n,)."""
    hidden = xp.tanh(x[:, None] * weights["a"] + weights["b"])
    return xp.mean((hidden @ weights["c"] - y) ** 2) / 2


def half_squared_error(net, x, y):
    """Half the mean of ‖f(x) − y‖² over the rows."""
    return jnp.mean(jnp.sum((jax.vmap(net)(x) - y) ** 2, axis=1)) / 2


def two_trained_networks(
    rng: np.random.Generator, width: int, samples: int = 24
) -> tuple[FlatLoss, np.ndarray, np.ndarray]:
    """The loss as an objective of one vector, and two minimisers of it that L-BFGS reached from random starts."""
    from scipy.optimize import minimize

    x = np.linspace(-2, 2, samples)
    y = np.sin(2 * x)
    options = {"args": (x, y), "jac": True, "method": "L-BFGS-B", "options": {"maxiter": 300}}
    solutions = [minimize(value_and_gradient, rng.normal(size=3 * width), **options).x for _ in range(2)]
    template = dict(zip("abc", jnp.asarray(solutions[0].reshape(3, width)), strict=True))
    return optimisation.flat_objective(network_loss, template, x, y)[0], *solutions


def value_and_gradient(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The same loss of a, b and c in one vector, and its gradient, without compilation."""
    a, b, c = w.reshape(3, -1)
    hidden = np.tanh(x[:, None] * a + b)
    error = (hidden @ c - y) / len(x)
    back = error[:, None] * c * (1 - hidden**2)
    gradient = np.concatenate([x @ back, back.sum(axis=0), hidden.T @ error])
    return float(len(x) * (error @ error) / 2), gradient
