"""Objectives and descent follow the array type of the points: NumPy in, NumPy out, with the numbers of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation


def _data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], 12)


OBJECTIVES = [
    (optimisation.LeastSquares(*_data(), 0.2), 3),
    (optimisation.LogisticRidge(*_data(), 0.2), 3),
    (optimisation.Quadratic(np.diag([1.0, 2.0, 5.0]), np.ones(3)), 3),
    (optimisation.LogCoshBowl([0.5, 0.0, 1.0], [1.0, 2.0, 0.0]), 3),
    (optimisation.SineParabola(3), 3),
    (optimisation.Huber(0.4, 3), 3),
    (optimisation.PowerFunction(4, 3), 3),
    (optimisation.QuarticBowl(2.0, 3), 3),
    (optimisation.DoubleWell(0.1, radius=2.0), 1),
    (optimisation.WorstChain(3, 2.0), 3),
    (optimisation.Lessard(), 1),
    (optimisation.Rosenbrock(), 2),
    (optimisation.Himmelblau(), 2),
]


@pytest.mark.parametrize(("objective", "dimension"), OBJECTIVES, ids=lambda part: type(part).__name__)
def test_many_numpy_points_have_the_values_and_gradients_that_jax_has_one_by_one(objective, dimension):
    points = np.random.default_rng(1).normal(size=(4, 5, dimension))
    values, gradients = objective(points), objective.gradient(points)
    assert (type(values), values.shape) == (np.ndarray, (4, 5))
    assert (type(gradients), gradients.shape) == (np.ndarray, points.shape)
    with jax.disable_jit():
        for place in ((0, 0), (3, 4)):
            w = jnp.asarray(points[place])
            assert isinstance(objective(w), jax.Array)
            np.testing.assert_allclose(values[place], objective(w), rtol=2e-5, atol=1e-6)
            np.testing.assert_allclose(gradients[place], jax.grad(objective)(w), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("objective", "dimension"), OBJECTIVES, ids=lambda part: type(part).__name__)
def test_the_gradient_is_the_slope_by_central_differences(objective, dimension):
    w = np.random.default_rng(2).normal(size=dimension)
    slope = [(objective(w + d) - objective(w - d)) / 2e-6 for d in 1e-6 * np.eye(dimension)]
    np.testing.assert_allclose(objective.gradient(w), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "objective", [objective for objective, _ in OBJECTIVES if objective.constants().minimum is not None]
)
def test_the_gap_vanishes_at_the_certified_minimiser_and_nowhere_below(objective):
    best = objective.constants().minimiser
    nearby = best + 0.3 * np.random.default_rng(3).normal(size=(50, len(best)))
    assert objective.gap(best) == pytest.approx(0.0, abs=1e-6)
    assert np.all(objective.gap(nearby) >= -1e-6)


def test_a_gap_needs_a_certified_minimum():
    with pytest.raises(ValueError, match="LogSumExp has none"):
        optimisation.LogSumExp().gap(np.zeros(2))


def test_the_quartic_bowl_is_as_smooth_on_its_ball_as_it_says():
    bowl, rng = optimisation.QuarticBowl(1.5, 3), np.random.default_rng(4)
    w = rng.normal(size=(20, 3))
    w *= 1.5 * rng.random((20, 1)) / np.linalg.norm(w, axis=1, keepdims=True)
    tops = [np.linalg.eigvalsh(bowl.hessian(jnp.asarray(row)))[-1] for row in w]
    assert max(tops) <= bowl.constants().smoothness
    edge = jnp.array([1.5, 0.0, 0.0])
    assert np.linalg.eigvalsh(bowl.hessian(edge))[-1] == pytest.approx(bowl.constants().smoothness)


def test_hessians_and_example_gradients_of_many_points_at_once():
    loss, points = optimisation.LogisticRidge(*_data(), 0.2), np.random.default_rng(5).normal(size=(4, 3))
    with jax.disable_jit():
        expected = [jax.hessian(loss)(jnp.asarray(w)) for w in points]
    np.testing.assert_allclose(loss.hessian(points), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(loss.sample_gradients(points).mean(axis=1), loss.gradient(points), rtol=1e-12)


def test_a_double_well_is_smooth_on_an_interval_of_radius_at_least_one():
    assert optimisation.DoubleWell().constants().smoothness is None
    with pytest.raises(ValueError, match="give 1 or more"):
        optimisation.DoubleWell(radius=0.5)


def test_a_path_in_numpy_is_the_path_of_the_scan():
    bowl = optimisation.spread_quadratic(2, 10.0)
    plain = optimisation.gradient_path(bowl.gradient, np.eye(2), 0.1, 6)
    scanned = optimisation.gradient_path(bowl.gradient, jnp.eye(2), 0.1, 6)
    assert isinstance(plain, np.ndarray)
    assert isinstance(scanned, jax.Array)
    np.testing.assert_allclose(plain, scanned, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(plain[-1], np.diag((1 - 0.1 * np.array([1.0, 10.0])) ** 6), atol=1e-7)
