import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from leadline.optimisation import (
    Himmelblau,
    Quadratic,
    backtracking_descent,
    classify_stationary,
    descend,
    descend_without_gradient,
    estimate_gradient,
    exact_step,
    measure_convergence,
    sharpness_path,
)
from leadline.optimisation.bounds.step_regimes import observed_regime, step_regime
from leadline.optimisation.instruments.step_directions import directions_of_steps
from leadline.optimisation.runs.descent import Descent

KEY = jax.random.key(0)
QUADRATIC = Quadratic(jnp.diag(jnp.array([1.0, 20.0])), jnp.zeros(2))


def test_measures_of_a_run_without_a_known_minimum_are_not_numbers():
    run = Descent(jnp.ones((3, 2)), jnp.arange(3.0), jnp.ones((3, 2)))
    found = measure_convergence(run)
    assert np.isnan(found.gap).all()
    assert np.isnan(found.distance).all()
    assert found.hitting_time("gradient_norm", 1.0) is None
    assert found.decrease.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("point", "kind"), [((3.0, 2.0), "minimum"), ((-0.270845, -0.923039), "maximum"), ((0.0, 0.0), "moving")]
)
def test_stationary_points_of_himmelblau(point, kind):
    assert classify_stationary(Himmelblau(), np.array(point), 1e-3).kind == kind


def test_a_flat_direction_is_neither_minimum_nor_saddle():
    assert (
        classify_stationary(Quadratic(jnp.diag(jnp.array([1.0, 0.0])), jnp.zeros(2)), np.zeros(2), 1e-3).kind == "flat"
    )


def test_directions_are_judged_by_slope_cosine_and_a_small_step():
    points = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    directions = np.array([[-1.0, -20.0], [1.0, 0.0], [-20.0, 1.0]])
    found = directions_of_steps(QUADRATIC, points, directions)
    assert found.cosine == pytest.approx([1, -1 / np.sqrt(401), 0])
    assert found.slope == pytest.approx([-401, 1, 0])
    assert found.descends.tolist() == [True, False, False]
    assert found.change[0] < 0 < found.change[1]
    with pytest.raises(ValueError, match="one shape"):
        directions_of_steps(QUADRATIC, points, directions[:2])


@pytest.mark.parametrize(
    "method", ["random search", "coordinate search", "nelder-mead", "differences", "spsa", "evolution"]
)
def test_every_gradient_free_method_finds_the_minimum_and_counts_its_questions(method):
    asked = []

    def function(w):
        asked.append(w)
        return float((w[0] - 1) ** 2 + (w[1] + 2) ** 2) / 2

    found = descend_without_gradient(function, np.zeros(2), method, goal=1e-4, smoothness=2.0, key=KEY)
    assert found.value <= 1e-4
    assert found.point == pytest.approx([1, -2], abs=0.02)
    assert found.evaluations == len(asked) == len(found.history)
    assert np.all(np.diff(found.history) <= 0)


def test_gradient_free_runs_stop_at_the_budget_and_refuse_what_they_cannot_do():
    found = descend_without_gradient(lambda w: float(w @ w), np.ones(3), "spsa", max_steps=7, smoothness=9.0, key=KEY)
    assert found.evaluations == 7
    with pytest.raises(ValueError, match="choose one of"):
        descend_without_gradient(lambda w: 0.0, np.ones(3), "newton", key=KEY)
    with pytest.raises(ValueError, match="larger `smoothness`"):
        descend_without_gradient(lambda w: float("nan"), np.array([-1.0]), "spsa", key=KEY)


def test_spsa_and_evolution_estimates_are_exact_in_one_dimension_up_to_the_square_of_the_direction():
    rng = np.random.default_rng(0)
    assert estimate_gradient(lambda w: float(w[0] ** 2), np.array([3.0]), "spsa", rng)[0] == pytest.approx(6.0)
    draws = [estimate_gradient(lambda w: float(w[0] ** 2), np.array([3.0]), "evolution", rng)[0] for _ in range(4000)]
    assert np.mean(draws) == pytest.approx(6.0, abs=5 * 6 * np.sqrt(2 / 4000))


def test_exact_step_is_brents_minimum_of_a_function_that_is_no_quadratic():
    w, d = jnp.array([0.5, -1.0]), jnp.array([-1.0, 0.5])
    found = exact_step(lambda w: jnp.sum(jnp.cosh(w)), w, d)
    brent = minimize_scalar(lambda eta: float(np.sum(np.cosh(np.asarray(w) + eta * np.asarray(d)))), bracket=(0.0, 1.0))
    assert found == pytest.approx(brent.x, rel=1e-6)
    with pytest.raises(ValueError, match="direction of descent"):
        exact_step(lambda w: jnp.sum(jnp.cosh(w)), w, -d)
    with pytest.raises(ValueError, match="no minimum"):
        exact_step(lambda w: w[0], w, jnp.array([-1.0, 0.0]), longest=8.0)


def test_backtracking_takes_the_longest_halving_that_decreases_enough():
    run = descend(QUADRATIC, backtracking_descent(decrease=0.1), jnp.array([1.0, 1.0]), 6)
    points, values, gradients = (np.asarray(part) for part in run)
    for w, value, g, after in zip(points, values, gradients, points[1:], strict=False):
        steps = 0.5 ** np.arange(30.0)
        tried = [float(QUADRATIC(jnp.asarray(w - s * g))) for s in steps]
        first = next(s for s, found in zip(steps, tried, strict=True) if found <= value - 0.1 * s * (g @ g))
        assert after == pytest.approx(w - first * g, abs=1e-12)


def test_regimes_told_and_seen_agree():
    for product in (0.3, 1.0, 1.5, 2.0, 2.3):
        assert observed_regime((1 - product) ** np.arange(5.0)) == step_regime(product / 3, 3.0)
    with pytest.raises(ValueError, match="positive"):
        step_regime(-1.0, 1.0)
    with pytest.raises(ValueError, match="at least 3"):
        observed_regime(np.array([1.0]))


def test_sharpness_along_descent_is_that_of_the_iterates():
    path = sharpness_path(lambda w: jnp.sum(w**4) / 12, jnp.array([1.0, 2.0]), step_size=0.1, num_steps=6, every=3)
    w = np.array([1.0, 2.0])
    expected, losses = [], []
    for t in range(7):
        if t % 3 == 0:
            expected.append(np.max(w**2))
        losses.append(np.sum(w**4) / 12)
        w = w - 0.1 * w**3 / 3
    assert path.sharpness == pytest.approx(expected)
    assert path.stability == pytest.approx(0.1 * np.array(expected))
    assert path.losses == pytest.approx(losses[:6])
    with pytest.raises(ValueError, match="smaller step"):
        sharpness_path(lambda w: jnp.sum(w**4), jnp.array([10.0]), step_size=1.0, num_steps=20, every=10)
    with pytest.raises(ValueError, match="all positive"):
        sharpness_path(lambda w: w @ w, jnp.ones(1), step_size=0.1, num_steps=1, every=2)
