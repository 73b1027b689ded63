"""Noise without gradients, single steps and floors, against explicit gradients and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.noise.noise_spectrum import noise_of_gram
from leadline.stochastic.runs.short_continuations import LossAround

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
Y = X @ np.array([1.0, 2.0, -1.0]) + 0.5 * rng.normal(size=40)
START = {"w": jnp.array([0.5, 1.0, 0.0])}


def losses(params, x, y):
    return (x @ params["w"] - y) ** 2 / 2


def test_noise_is_that_of_explicit_gradients():
    found = stochastic.streamed_noise(losses, START, X, Y)
    explicit = (X @ np.asarray(START["w"]) - Y)[:, None] * X
    g = explicit.mean(0)
    assert np.allclose(found.gradient["w"], g)
    assert np.isclose(found.seen_square.value, g @ g)
    assert np.isclose(found.seen_trace.value, np.sum((explicit - g) ** 2) / 40)
    reference = noise_of_gram(explicit @ explicit.T, 3, seen_share=0.0)
    for name in ("trace", "gradient_square", "noise_scale"):
        assert np.allclose(getattr(found, name)[:3], getattr(reference, name)[:3])
    with pytest.raises(ValueError, match="rows"):
        stochastic.streamed_noise(losses, START, X[:2], Y[:2])


def test_a_step_on_a_quadratic_drops_as_its_curvature_says():
    here = LossAround(losses, START, (jnp.asarray(X), jnp.asarray(Y)))
    g = stochastic.streamed_noise(losses, START, X, Y).gradient
    h, v = X.T @ X / 40, np.asarray(g["w"])
    found = here.segment(g, 0.3)
    expected = 0.3 * v @ v - 0.045 * v @ h @ v
    assert np.allclose([found.drop, found.lower, found.upper], expected)
    run = stochastic.continue_sgd(here, 0.1, 40, num_steps=20, looks=4, runs=2, rng=np.random.default_rng(0))
    assert run.losses.shape == (2, 5)
    assert run.steps[-1] == 20
    assert np.isclose(run.losses[0, 0], np.mean(losses(START, X, Y)))
    assert run.losses[:, -1].max() < run.losses[0, 0]


def test_the_floor_of_least_squares_is_the_predicted_one():
    g = stochastic.streamed_noise(losses, START, X, Y).gradient
    arrays = (jnp.asarray(X), jnp.asarray(Y))
    h = X.T @ X / 40
    found = stochastic.quadratic_floor(
        losses, START, arrays, h, g, step_size=0.1, batch=2, runs=16, key=jax.random.key(0)
    )
    best = np.linalg.lstsq(X, Y, rcond=None)[0]
    assert np.isclose(found.minimum, np.mean((X @ best - Y) ** 2) / 2)
    error = found.measured.std(ddof=1) / 4
    assert abs(found.measured.mean() - found.predicted) < 4.5 * error
    for bad, step, words in ((h, 5.0, "2/L"), (np.diag([1.0, 1.0, 0.0]), 0.1, "direction")):
        refused = stochastic.quadratic_floor(
            losses, START, arrays, bad, g, step_size=step, batch=2, key=jax.random.key(0)
        )
        assert words in refused.why
