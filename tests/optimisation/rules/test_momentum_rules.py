"""Momentum rules against NumPy recursions, and their forms against each other and against Optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import optimisation
from leadline.optimisation.rules.momentum_forms import (
    Schedule,
    as_optax_sgd,
    convert_schedule,
    heavy_ball_average,
    heavy_ball_two_line,
    look_ahead_points,
    nesterov_library,
)
from leadline.optimisation.rules.momentum_rules import MomentumTable

CURVATURES = np.array([1.0, 3.0, 9.0])
BOWL = optimisation.Quadratic(jnp.diag(jnp.array(CURVATURES)), jnp.zeros(3))
START = np.array([1.0, -2.0, 0.5])


def slope(w):
    return CURVATURES * w


def run(rule, steps=25):
    return np.asarray(optimisation.descend(BOWL, rule, jnp.asarray(START), steps).points)


def test_heavy_ball_is_the_one_line_recursion_also_with_a_schedule():
    steps = np.where(np.arange(25) < 10, 0.1, 0.02)
    rule = optimisation.heavy_ball(lambda t: jnp.where(t < 10, 0.1, 0.02), 0.7)
    plan = Schedule(steps, np.full(25, 0.7))
    np.testing.assert_allclose(run(rule), optimisation.heavy_ball_one_line(slope, START, plan), atol=1e-12)


@pytest.mark.parametrize("first", [1, 2])
def test_growing_nesterov_is_the_two_line_recursion(first):
    plan = optimisation.growing_schedule(0.1, 25, first=first)
    rule = optimisation.nesterov_growing(0.1, first=first)
    np.testing.assert_allclose(run(rule), optimisation.nesterov_two_line(slope, START, plan), atol=1e-12)
    t = np.arange(1, 25) + first - 1
    np.testing.assert_allclose(plan.momenta[1:], (t - 1) / (t + 2))


def test_constant_nesterov_and_optax_share_their_look_ahead_points():
    ours = run(optimisation.nesterov(0.1, 0.6))
    theirs = run(as_optax_sgd(optimisation.constant_schedule(0.1, 0.6, 1), nesterov=True))
    np.testing.assert_allclose(theirs, look_ahead_points(ours, 0.6), atol=1e-12)
    plan = optimisation.constant_schedule(0.1, 0.6, 25)
    np.testing.assert_allclose(theirs, nesterov_library(slope, START, plan), atol=1e-12)


def test_a_restart_forgets_the_displacement():
    rule = optimisation.nesterov(0.1, 0.9, restart="gradient")
    y = jnp.array([1.0])
    state = rule.init(y)._replace(iterate=jnp.array([2.0]))  # it came from 2, downhill is to the right
    change, after = rule.update(jnp.array([-1.0]), state, y)
    assert float(after.iterate[0]) == pytest.approx(1.1)
    assert float((y + change)[0]) == pytest.approx(1.1)  # no look-ahead
    assert int(after.count) == 0


@pytest.mark.parametrize("restart", ["gradient", "function"])
def test_restarts_beat_growing_momentum_on_a_quadratic(restart):
    bowl, start = optimisation.spread_quadratic(5, 100.0), jnp.ones(5)
    ends = [
        optimisation.descend(bowl, optimisation.nesterov_growing(0.01, restart=r), start, 300).values[-1]
        for r in ("", restart)
    ]
    assert ends[1] < 1e-3 * ends[0]


def test_rules_take_pytrees_and_keep_their_dtype():
    parameters = {"a": jnp.ones(2, jnp.float32), "b": jnp.ones((), jnp.float32)}
    for rule in (optimisation.heavy_ball(0.1, 0.9), optimisation.nesterov_growing(0.1)):
        change, _ = rule.update(parameters, rule.init(parameters), parameters)
        assert jax.tree.map(lambda c: c.dtype, change) == {"a": jnp.float32, "b": jnp.float32}


def test_tables_and_functions_of_t_agree():
    table = optimisation.growing_schedule(1.0, 30).momenta
    rule = optimisation.nesterov(0.1, MomentumTable(jnp.asarray(table)))
    np.testing.assert_allclose(run(rule), run(optimisation.nesterov_growing(0.1)), atol=1e-12)


def test_conversions_go_round_and_keep_the_path():
    rng = np.random.default_rng(0)
    plan = Schedule(rng.uniform(0.01, 0.1, 25), rng.uniform(0.1, 0.8, 25))
    path = optimisation.heavy_ball_one_line(slope, START, plan)
    forms = {"velocity": optimisation.heavy_ball_velocity, "average": heavy_ball_average}
    for name, form in forms.items():
        there = convert_schedule(plan, "displacement", name)
        np.testing.assert_allclose(form(slope, START, there), path, atol=1e-11)
        back = convert_schedule(there, name, "displacement")
        np.testing.assert_allclose(back.steps, plan.steps)
        np.testing.assert_allclose(back.momenta[1:], plan.momenta[1:])
    np.testing.assert_allclose(heavy_ball_two_line(slope, START, plan), path, atol=1e-12)
    np.testing.assert_allclose(run(as_optax_sgd(plan)), path, atol=1e-10)


def test_optax_goes_on_with_the_last_numbers():
    plan = Schedule(np.array([0.1, 0.02]), np.array([0.5, 0.7]))
    longer = Schedule(np.append([0.1], np.full(24, 0.02)), np.append([0.5], np.full(24, 0.7)))
    path = optimisation.heavy_ball_one_line(slope, START, longer)
    np.testing.assert_allclose(run(as_optax_sgd(plan)), path, atol=1e-10)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="restart is 'often'"):
        optimisation.nesterov(0.1, 0.9, restart="often")
    with pytest.raises(ValueError, match="first is 3"):
        optimisation.nesterov_growing(0.1, first=3)
    with pytest.raises(ValueError, match="0 < m ≤ L"):
        optimisation.heavy_ball_tuning(1.0, 2.0)
    with pytest.raises(ValueError, match="form is 'two lines'"):
        convert_schedule(optimisation.constant_schedule(0.1, 0.9, 3), "two lines", "velocity")
    changing = Schedule(np.array([0.1, 0.2]), np.array([0.9, 0.9]))
    with pytest.raises(ValueError, match="constant numbers"):
        as_optax_sgd(changing, nesterov=True)
    rule = optimisation.nesterov(0.1, 0.9, restart="function")
    with pytest.raises(ValueError, match="value_fn"):
        rule.update(jnp.ones(1), rule.init(jnp.ones(1)), jnp.ones(1))
    with pytest.raises(ValueError, match="give them to update"):
        rule.update(jnp.ones(1), rule.init(jnp.ones(1)))
    assert isinstance(optimisation.heavy_ball(0.1, 0.9), optax.GradientTransformation)
