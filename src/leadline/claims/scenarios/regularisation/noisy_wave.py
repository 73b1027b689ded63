"""A sine with noise and learners of it, refitted on many training sets: what the entries on bias and variance share."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from leadline import data, learning, regularisation, training
from leadline.learning.regression.polynomial import polynomial_fit
from leadline.learning.risk.bayes_risk import nearest_neighbours_mean

GRID = (np.arange(100) + 0.5) / 100  # the inputs: x is uniform on these 100 points


def wave(x: np.ndarray) -> np.ndarray:
    """f*(x) = sin 2πx."""
    return np.sin(2 * np.pi * x)


def draw_wave(key: PRNGKeyArray, samples: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """(x, y) of noisy points on the sine; x is uniform on the grid."""
    rng = data.generator(key)
    x = rng.choice(GRID, size=samples)
    return x, wave(x) + noise * rng.normal(size=samples)


def wave_learner(name: str, capacity: int) -> Callable[..., np.ndarray]:
    """(x_train, y_train, x) ↦ predictions; more capacity, less bias."""

    def polynomial(x, y, new):
        return polynomial_fit(x, y, capacity).predict(new)

    def ridge(x, y, new):
        kept = regularisation.RidgeFilter(10.0**-capacity)
        fits = regularisation.filtered_fits(learning.legendre_features(x, 8)[:, 1:], y[:, None], [kept])
        return fits.predict(learning.legendre_features(new, 8)[:, 1:])[0, :, 0]

    def neighbours(x, y, new):
        return nearest_neighbours_mean(x[:, None], y, max(12 - 2 * capacity, 1))(new[:, None])

    return {"polynomial": polynomial, "ridge": ridge, "neighbours": neighbours}[name]


@jax.jit
def trained_networks(x: Float[Array, "s n"], y: Float[Array, "s n"], key: PRNGKeyArray) -> Float[Array, "s m"]:
    """Tanh networks with 6 units, 300 steps of Adam, one for each row of x and y; their values on the grid."""

    def value(params, x):
        return jnp.tanh(x[:, None] * params[0] + params[1]) @ params[2] + params[3]

    def one(x, y, key):
        w, b, v = 4 * jax.random.normal(key, (3, 6))
        loss = lambda params, x, y: jnp.mean((value(params, x) - y) ** 2)  # noqa: E731
        end, _ = training.minimise(loss, (w, b, v / 10, jnp.zeros(())), optax.adam(0.03), 300, x, y)
        return value(end, jnp.asarray(GRID))

    return jax.vmap(one)(x, y, jax.random.split(key, len(x)))
