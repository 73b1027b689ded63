"""Runs of rules on objectives against plain loops in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.optimisation import Quadratic, descend, nesterov, spread_quadratic, steps_to_reach, tunable
from leadline.optimisation.runs.descent import losses_until

BOWL = spread_quadratic(3, 10.0)


def by_hand(step, start, steps):
    matrix, w, points = np.asarray(BOWL.matrix), np.array(start, float), [np.array(start, float)]
    for _ in range(steps):
        w = w - step * matrix @ w
        points.append(w)
    return np.array(points)


def test_points_values_and_gradients_are_those_of_a_loop():
    run = descend(BOWL, tunable(optax.sgd, learning_rate=0.1), jnp.ones(3), 20)
    points = by_hand(0.1, np.ones(3), 20)
    matrix = np.asarray(BOWL.matrix)
    np.testing.assert_allclose(run.points, points, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run.values, np.einsum("ti,ij,tj->t", points, matrix, points) / 2, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run.gradient_norms, np.linalg.norm(points @ matrix, axis=1), rtol=1e-12, atol=1e-15)


def test_nesterov_is_recorded_at_its_iterates_not_at_the_look_ahead_points():
    w = before = np.ones(3)
    points = [w]
    for _ in range(15):
        ahead = w + 0.5 * (w - before)
        w, before = ahead - 0.1 * np.asarray(BOWL.matrix) @ ahead, w
        points.append(w)
    np.testing.assert_allclose(
        descend(BOWL, nesterov(0.1, 0.5), jnp.ones(3), 15).points, points, rtol=1e-12, atol=1e-15
    )


def test_numbers_as_data_can_be_mapped_over_and_need_no_second_compilation():
    compiled = []

    def loss(w):
        compiled.append(1)
        return w @ w / 2

    sizes = jnp.array([0.1, 0.5, 1.0])
    for size in (0.1, 0.5):
        descend(loss, tunable(optax.sgd, learning_rate=size), jnp.ones(2), 5)
    once = len(compiled)
    descend(loss, tunable(optax.sgd, learning_rate=0.7), jnp.ones(2), 5)
    assert len(compiled) == once
    ends = jax.vmap(lambda s: descend(loss, tunable(optax.sgd, learning_rate=s), jnp.ones(2), 5).values[-1])(sizes)
    np.testing.assert_allclose(ends, (1 - np.asarray(sizes)) ** 10, atol=1e-15)


def test_single_precision_stays_single():
    run = descend(lambda w: w @ w / 2, tunable(optax.adam, learning_rate=0.1, b1=0), jnp.ones(2, jnp.float32), 3)
    assert run.points.dtype == jnp.float32


@pytest.mark.parametrize(("goal", "most", "expected"), [(1e-3, 200, None), (10.0, 5, 0), (0.0, 5, 6)])
def test_the_first_step_below_the_goal(goal, most, expected):
    rule, values = tunable(optax.sgd, learning_rate=0.1), None
    points = by_hand(0.1, np.ones(3), most)
    values = np.einsum("ti,ij,tj->t", points, np.asarray(BOWL.matrix), points) / 2
    expected = int(np.argmax(values <= goal)) if expected is None else expected
    assert int(steps_to_reach(BOWL, rule, jnp.ones(3), goal, most)[0]) == expected
    count, losses = losses_until(BOWL, rule, jnp.ones(3), goal, most)
    assert int(count) == expected
    seen = min(expected, most) + 1
    np.testing.assert_allclose(losses[:seen], values[:seen], rtol=1e-12)
    assert np.isnan(losses[seen:]).all()


def test_constants_of_a_singular_quadratic():
    flat = Quadratic(jnp.diag(jnp.array([0.0, 2.0, 8.0])), jnp.array([0.0, 2.0, 0.0]))
    known = flat.constants()
    assert (known.smoothness, known.strong_convexity, known.pl) == (8.0, 0.0, 2.0)
    assert known.minimum == pytest.approx(-1.0)
    assert float(flat(jnp.asarray(known.minimiser))) == pytest.approx(-1.0)
    assert Quadratic(flat.matrix, jnp.array([1.0, 0.0, 0.0])).constants().minimum is None  # falls without end
    assert Quadratic(-flat.matrix, flat.linear).constants() == (8.0, None, None, None, None)
    with pytest.raises(ValueError, match="m > 0"):
        _ = known.condition
