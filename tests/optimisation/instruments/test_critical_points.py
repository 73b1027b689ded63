import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation
from leadline.optimisation.runs.multistart import settle

BOX = np.full(2, 2.5)


def test_egg_crate_has_all_its_critical_points():
    found = optimisation.find_critical_points(
        lambda w: jnp.sum(jnp.cos(2 * w)), -BOX, BOX, key=jax.random.key(0), starts=300
    )
    assert len(found.points) == 9  # w₁, w₂ ∈ {−π/2, 0, π/2}
    assert sorted(found.kinds) == ["maximum"] + ["minimum"] * 4 + ["saddle"] * 4
    assert np.abs(np.sin(2 * found.points)).max() < 1e-8
    assert np.all(np.diff(found.values) >= -1e-12)


def test_flat_direction_is_called_degenerate():
    found = optimisation.find_critical_points(
        lambda w: w[0] ** 2 + 0 * w[1], -BOX, BOX, key=jax.random.key(0), starts=5
    )
    assert set(found.kinds) == {"degenerate"}


def test_functions_without_critical_points_and_empty_boxes_are_said():
    with pytest.raises(ValueError, match="no critical point"):
        optimisation.find_critical_points(lambda w: jnp.sum(jnp.exp(w)), -BOX, BOX, key=jax.random.key(0), starts=5)
    with pytest.raises(ValueError, match="low < high"):
        optimisation.find_critical_points(jnp.sum, BOX, BOX, key=jax.random.key(0))


def test_descent_from_many_starts_solves_lasso_as_scikit_learn_does():
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    loss = optimisation.LeastSquares(x, y)
    run = settle(loss, rng.normal(size=(3, 5)), 1 / loss.constants().smoothness, l1=0.1)
    theirs = Lasso(0.1, fit_intercept=False, tol=1e-12).fit(x, y).coef_
    assert np.asarray(run.points) == pytest.approx(np.tile(theirs, (3, 1)), abs=1e-6)
    assert np.asarray(run.residuals).max() <= 1e-8


def test_descent_that_diverges_or_has_a_bad_step_is_said():
    with pytest.raises(ValueError, match="lower the step"):
        settle(lambda w: jnp.sum(w**4), np.full((2, 1), 10.0), 1.0, max_steps=50)
    with pytest.raises(ValueError, match="positive step"):
        settle(jnp.sum, np.zeros((1, 1)), -1.0)
