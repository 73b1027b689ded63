"""Losses of small networks, and two of them trained to the same task from different starts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.optimisation.objectives.any_loss import FlatLoss


def network_loss(weights: dict, x, y):
    """Half the mean squared error of c·tanh(a x + b) on inputs x (n,)."""
    hidden = jnp.tanh(x[:, None] * weights["a"] + weights["b"])
    return jnp.mean((hidden @ weights["c"] - y) ** 2) / 2


def half_squared_error(net, x, y):
    """Half the mean of ‖f(x) − y‖² over the rows."""
    return jnp.mean(jnp.sum((jax.vmap(net)(x) - y) ** 2, axis=1)) / 2


def two_trained_networks(
    rng: np.random.Generator, width: int, samples: int = 24
) -> tuple[FlatLoss, np.ndarray, np.ndarray]:
    """The loss as an objective of one vector, and two minimisers of it that L-BFGS reached from random starts."""
    from scipy.optimize import minimize

    x = np.linspace(-2, 2, samples)
    loss, _ = optimisation.flat_objective(network_loss, dict.fromkeys("abc", jnp.zeros(width)), x, np.sin(2 * x))
    options = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 300}}
    both = eqx.filter_jit(FlatLoss.value_and_gradient)
    return loss, *(minimize(lambda w: both(loss, w), rng.normal(size=3 * width), **options).x for _ in range(2))
