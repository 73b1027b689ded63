import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import data
from leadline.linear_classifiers.perceptrons.subgradient import perceptron_loss, subgradient_descent


def test_the_loss_is_the_positive_part_of_minus_the_score():
    rng = np.random.default_rng(0)
    for w, x, y in zip(rng.normal(size=(20, 4)), rng.normal(size=(20, 4)), rng.choice([-1.0, 1.0], 20), strict=True):
        assert float(perceptron_loss(w, x, np.array(y))) == pytest.approx(max(0.0, -y * (x @ w)))


def test_the_gradient_is_that_of_finite_differences_away_from_the_kink():
    rng = np.random.default_rng(1)
    for _ in range(20):
        w, x, y = rng.normal(size=4), rng.normal(size=4), np.array(rng.choice([-1.0, 1.0]))
        gradient = jax.grad(perceptron_loss)(jnp.asarray(w), jnp.asarray(x), jnp.asarray(y))
        up, down = (np.maximum(0, -y * ((w + h * np.eye(4)) @ x)) for h in (1e-6, -1e-6))
        differences = (up - down) / 2e-6
        assert np.allclose(gradient, differences, atol=1e-6)


def test_at_a_tie_the_whole_step_is_taken():
    gradient = jax.grad(perceptron_loss)(jnp.zeros(3), jnp.arange(3.0), jnp.asarray(-1.0))
    assert np.array_equal(gradient, np.arange(3.0))


def test_descent_follows_the_rule_replayed_by_hand():
    x, y = (np.asarray(part) for part in data.gaussian_clouds(20, 3, 1.0, key=jax.random.key(0)))
    stream = np.random.default_rng(2).integers(0, 20, 100)
    path = subgradient_descent(x, y, stream, step_size=0.25, start=np.ones(3))
    w = np.ones(3)
    for t, i in enumerate(stream):
        if y[i] * (x[i] @ w) <= 0:
            w = w + 0.25 * y[i] * x[i]
        assert np.allclose(path[t + 1], w, atol=1e-12)
