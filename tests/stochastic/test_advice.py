"""Advice from certified constants, followed; and what cannot be advised on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.data import generator
from leadline.stochastic import advise, as_finite_sum, follow, least_squares_sum


@pytest.fixture(scope="module")
def regression():
    rng = generator(jax.random.key(0))
    x = rng.normal(size=(200, 3)) * np.array([1.0, 0.7, 0.5])
    return least_squares_sum(x, x @ np.ones(3) + 0.3 * rng.normal(size=200)), x


def test_constants_are_those_of_the_matrix_and_the_plans_follow_from_them(regression):
    problem, x = regression
    advice = advise(problem, jnp.zeros(3), accuracy=1e-3)
    eigenvalues = np.linalg.eigvalsh(x.T @ x / 200)
    assert advice.certified
    assert advice.smoothness.value == pytest.approx(eigenvalues[-1])
    assert advice.convexity.value == pytest.approx(eigenvalues[0])
    kappa = np.sqrt(eigenvalues[-1] / eigenvalues[0])
    assert advice.full.momentum == pytest.approx((kappa - 1) / (kappa + 1))
    best = np.linalg.lstsq(x, np.asarray(problem.arrays[1]), rcond=None)[0]
    noise = np.mean(np.sum(x**2, axis=1) * (x @ best - np.asarray(problem.arrays[1])) ** 2)
    assert advice.floor_noise.value == pytest.approx(noise)
    assert advice.batches.batch == int(np.ceil(noise / (2e-3 * eigenvalues[-1])))


def test_the_runs_do_what_was_predicted(regression):
    problem, _ = regression
    advice = advise(problem, jnp.zeros(3), accuracy=1e-3)
    whole = follow(advice.full, problem, jnp.zeros(3), num_steps=advice.full.steps, key=jax.random.key(0))
    assert whole.values[-1] - advice.minimum <= advice.accuracy
    run = follow(
        advice.batches, problem, jnp.zeros(3), num_steps=40 * advice.batches.steps, looks=2000, key=jax.random.key(1)
    )
    settled = run.values[run.steps > advice.batches.steps] - advice.minimum
    error = np.std([part.mean() for part in np.array_split(settled, 20)], ddof=1) / np.sqrt(20)
    assert settled.mean() == pytest.approx(advice.batches.floor, abs=4 * error + 0.05 * advice.batches.floor)


def test_a_loss_of_any_parameters_is_measured_where_it_stands_and_says_so():
    def loss(params, x, y):
        return (jnp.tanh(params["a"] * x) * params["b"] - y) ** 2

    x = np.linspace(-1, 1, 20)
    advice = advise(loss, {"a": jnp.array(0.1), "b": jnp.array(0.1)}, (x, np.sin(2 * x)))
    assert not advice.certified
    assert not advice.convex
    assert any("not strongly convex" in remark for remark in advice.remarks)
    problem, w = as_finite_sum(loss, {"a": jnp.array(0.1), "b": jnp.array(0.1)}, (x, np.sin(2 * x)))
    assert float(problem(w)) == pytest.approx(np.mean((np.tanh(0.1 * x) * 0.1 - np.sin(2 * x)) ** 2))


@pytest.mark.parametrize(
    ("loss", "given", "message"),
    [
        (lambda w, y: jnp.sum(w) * jnp.inf, {}, "The loss is inf"),
        (lambda w, y: (w - y) ** 2, {"minimum": 99.0}, "not above its minimum"),
        (lambda w, y: (w - y) ** 2, {"accuracy": 1e9}, "is not between 0 and the present gap"),
    ],
)
def test_what_cannot_be_planned_is_said(loss, given, message):
    with pytest.raises(ValueError, match=message):
        advise(loss, jnp.array(1.0), (np.array([0.0, 2.0]),), **given)
