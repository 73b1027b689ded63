"""Small classifiers of two moons in the plane, for which the decision boundary can be seen and computed exactly."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import robustness
from leadline.training import minimise

Layers = list[tuple[jax.Array | np.ndarray, jax.Array | np.ndarray]]


def relu_apply(layers: Layers, x: jax.Array | np.ndarray) -> jax.Array:
    """Scores of a batch: affine, ReLU, affine."""
    (w, b), (v, c) = layers
    return jnp.maximum(x @ w.T + b, 0) @ v.T + c


def with_hidden_units(layers: Layers, hidden: int, offset: float = 10.0) -> Layers:
    """A linear classifier as a network 2-hidden-2: units x + offset that are always on, and units that are always 0."""
    ((w, b),) = layers
    first = np.zeros((hidden, 2))
    first[:2] = np.eye(2)
    second = np.zeros((2, hidden))
    second[:, :2] = w
    return [(first, np.where(np.arange(hidden) < 2, offset, 0.0)), (second, b - offset * w.sum(1))]


@cache
def planar_network(hidden: int, seed: int, training: str = "standard") -> tuple[Layers, np.ndarray, np.ndarray]:
    """A network 2-hidden-2 (linear if hidden = 0) with its points and labels; robust trainings use eps = 0.15."""
    from sklearn.datasets import make_moons

    x, y = make_moons(100, noise=0.15, random_state=seed)
    if hidden == 0:
        from sklearn.linear_model import LogisticRegression

        fitted = LogisticRegression(C=10.0).fit(x, y)
        w, b = fitted.coef_, fitted.intercept_
        return [(np.vstack([-w, w]) / 2, np.append(-b, b) / 2)], x, y
    rng = np.random.default_rng(seed)
    first = (rng.normal(size=(hidden, 2)), rng.normal(size=hidden))
    start = [first, (rng.normal(size=(2, hidden)) / np.sqrt(hidden), np.zeros(2))]
    start = jax.tree.map(jnp.asarray, start)
    if training == "standard":
        return jax.tree.map(np.asarray, minimise(_regularised, start, _adam(), 1000, x, y)[0]), x, y
    train = robustness.adversarial_training if training == "adversarial" else robustness.interval_training
    found = train(relu_apply, start, x, y, eps=0.15, epochs=400, batch=len(x), rule=_adam(), key=jax.random.key(seed))
    return jax.tree.map(np.asarray, found.params), x, y


def _regularised(layers: Layers, x: jax.Array, y: jax.Array) -> jax.Array:
    """Mean cross-entropy and 10⁻⁴/2 of the squared weights."""
    losses = optax.softmax_cross_entropy_with_integer_labels(relu_apply(layers, x), y)
    return losses.mean() + 1e-4 * sum(jnp.sum(w**2) for w, _ in layers) / 2


@cache
def _adam() -> optax.GradientTransformation:
    return optax.adam(0.02)
