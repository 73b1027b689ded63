import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation

OBJECTIVES = {
    "Huber": (optimisation.Huber(0.5, 3), 3),
    "power": (optimisation.PowerFunction(3.0, 3), 3),
    "log-sum-exp": (optimisation.LogSumExp(), 3),
    "sine": (optimisation.SineParabola(3), 3),
    "chain": (optimisation.WorstChain(3, 2.0), 3),
    "Lessard": (optimisation.Lessard(), 1),
    "double well": (optimisation.DoubleWell(0.2), 1),
    "Rosenbrock": (optimisation.Rosenbrock(), 2),
    "Himmelblau": (optimisation.Himmelblau(), 2),
    "least squares": (optimisation.LeastSquares(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([1.0, 2.0]), 0.3), 2),
    "logistic": (optimisation.LogisticRidge(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([1.0, -1.0]), 0.3), 2),
}


@eqx.filter_jit
def everything(objective, points):
    return jax.vmap(objective)(points), jax.vmap(objective.gradient)(points), objective.hessian(points[0])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_and_hessian_are_the_central_differences_of_value_and_gradient(name):
    objective, p = OBJECTIVES[name]
    w, h = np.array([0.7, -1.3, 0.2])[:p], 1e-5
    points = np.concatenate([[w], w + h * np.eye(p), w - h * np.eye(p)])
    values, gradients, hessian = (np.asarray(part) for part in everything(objective, jnp.asarray(points)))
    assert gradients[0] == pytest.approx((values[1 : p + 1] - values[p + 1 :]) / (2 * h), rel=1e-6, abs=1e-6)
    assert hessian == pytest.approx((gradients[1 : p + 1] - gradients[p + 1 :]) / (2 * h), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", [name for name, (o, _) in OBJECTIVES.items() if o.constants().minimum is not None])
def test_certified_minimisers_have_the_minimum_and_no_slope(name):
    objective, p = OBJECTIVES[name]
    known = objective.constants()
    points = np.broadcast_to(known.minimiser, (2 * p + 1, p))
    values, gradients, _ = everything(objective, jnp.asarray(points))
    assert values[0] == pytest.approx(known.minimum, abs=1e-12)
    assert np.abs(gradients).max() < 1e-10


def test_pl_constant_of_the_sine_parabola_is_the_minimum_over_a_grid_rounded_down():
    w = np.linspace(1e-3, 20, 200_001)
    ratio = (2 * w + 3 * np.sin(2 * w)) ** 2 / (2 * (w**2 + 3 * np.sin(w) ** 2))
    assert ratio.min() == pytest.approx(0.175531, abs=1e-6)
    assert optimisation.SineParabola().constants().pl <= ratio.min()


def test_chain_constants_are_the_eigenvalues_of_the_tridiagonal_matrix():
    chain = optimisation.WorstChain(9, 4.0)
    matrix = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    known = chain.constants()
    values = np.linalg.eigvalsh(matrix)
    assert known.strong_convexity == pytest.approx(values[0])
    assert values[-1] <= known.smoothness
    assert known.minimiser == pytest.approx(np.linalg.solve(matrix, np.eye(9)[0]))


def test_least_squares_without_full_rank_has_the_solution_of_least_norm_and_pl_without_strong_convexity():
    x, y = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]), np.array([1.0, 0.0])
    known = optimisation.LeastSquares(x, y).constants()
    assert known.minimiser == pytest.approx(np.linalg.pinv(x) @ y)
    assert (known.strong_convexity, known.pl) == (0.0, pytest.approx(np.linalg.norm(x, 2) ** 2 / 2))


def test_logistic_minimiser_is_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    y = np.where(x[:, 0] + rng.normal(size=50) > 0, 1.0, -1.0)
    known = optimisation.LogisticRidge(x, y, 0.1).constants()
    theirs = LogisticRegression(C=1 / (50 * 0.1), fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, y)
    assert known.minimiser == pytest.approx(theirs.coef_[0], abs=1e-5)


def test_separable_data_without_penalty_have_no_certified_minimiser():
    assert optimisation.LogisticRidge(np.ones((2, 1)), np.ones(2)).constants().minimiser is None


def test_bad_objectives_say_what_is_wrong():
    with pytest.raises(ValueError, match="labels −1 or"):
        optimisation.LogisticRidge(np.ones((2, 1)), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="give at least 1"):
        optimisation.WorstChain(0)
    with pytest.raises(ValueError, match="one for each link"):
        optimisation.WorstChain(3)(jnp.zeros(2))


def test_user_functions_are_differentiated():
    mine = optimisation.UserFunction(lambda w: w[0] ** 2 * w[1])
    assert eqx.filter_jit(mine.hessian)(jnp.array([2.0, 3.0])).tolist() == [[6.0, 4.0], [4.0, 0.0]]
