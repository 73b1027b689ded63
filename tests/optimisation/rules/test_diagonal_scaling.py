"""The diagonal of squared gradients against loops."""

import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.optimisation.rules.diagonal_scaling import scaled_direction, squared_gradient_diagonal


def test_the_exact_diagonal_is_the_mean_of_squares():
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((9, 3)), rng.standard_normal(9), rng.standard_normal(3)
    found = squared_gradient_diagonal(
        lambda w, x, y: (x @ w - y) ** 2 / 2, jnp.asarray(w), jnp.asarray(x), jnp.asarray(y)
    )
    np.testing.assert_allclose(
        found, np.mean([((a @ w - b) * a) ** 2 for a, b in zip(x, y, strict=True)], axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(scaled_direction(jnp.asarray(w), found, 0.5), w / (np.sqrt(found) + 0.5))


def test_running_squares_follow_the_recursion():
    gradients = np.random.default_rng(1).standard_normal((20, 2))
    v, seen = np.zeros(2), []
    for g in gradients:
        v = 0.9 * v + 0.1 * g**2
        seen.append(v)
    np.testing.assert_allclose(optimisation.running_squares(gradients, 0.9), seen, rtol=1e-12)
