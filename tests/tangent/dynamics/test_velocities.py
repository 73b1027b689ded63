"""Velocities of outputs and loss against finite differences and hand computation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import as_apply
from leadline.networks import MLP
from leadline.tangent import OutputRisk, dissipation
from leadline.tangent.dynamics.velocities import output_velocity


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    f, params = as_apply(MLP((2, 5, 3), "tanh", bias_scale=0.3, key=jax.random.key(0)))
    return f, params, rng.standard_normal((4, 2)), rng.integers(0, 3, 4), rng.standard_normal((3, 2))


def test_outputs_move_as_finite_differences_say(task):
    f, params, x, y, points = task
    risk = OutputRisk(f, "cross-entropy")
    gradient = risk.gradient(params, x, y)
    moved = [risk.outputs(jax.tree.map(lambda p, g, h=h: p - h * g, params, gradient), points) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(output_velocity(risk, params, x, y, points), (moved[0] - moved[1]) / 2e-5, atol=1e-8)


def test_the_three_forms_of_the_dissipation_agree_and_a_mean_divides_by_n_squared(task):
    f, params, x, y, _ = task
    risk = OutputRisk(f, "cross-entropy")
    total = float(np.sum(np.asarray(risk.slope(params, x, y)) * np.asarray(output_velocity(risk, params, x, y, x))))
    mean = dissipation(OutputRisk(f, "cross-entropy", mean=True), params, x, y)
    np.testing.assert_allclose(mean, total / 16, rtol=1e-12)


def test_losses_have_their_slopes():
    x, y = jnp.array([[1.0], [2.0]]), jnp.array([1.0, -1.0])
    w = jnp.array([0.5])
    out = np.array([0.5, 1.0])
    slopes = {
        "half-squared": out - np.asarray(y),
        "squared": 2 * (out - np.asarray(y)),
        "huber": np.clip(out - np.asarray(y), -1, 1),
        "logistic": -np.asarray(y) / (1 + np.exp(np.asarray(y) * out)),
    }
    for name, expected in slopes.items():
        found = OutputRisk(lambda w, x: w * x, name).slope(w, x, y)
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12, err_msg=name)


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="choose one of"):
        OutputRisk(lambda w, x: w * x, "hinges")
