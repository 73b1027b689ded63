"""The problem of a linear network against finite differences, the normal equations and published numbers."""

import jax
import numpy as np
import pytest

from leadline.landscape import deep_linear


@pytest.fixture
def problem():
    return deep_linear.random_problem(4, 3, 30, key=jax.random.key(3))


def test_the_best_map_solves_the_normal_equations(problem):
    by_lstsq = np.linalg.lstsq(problem.x.T, problem.y.T, rcond=None)[0].T
    np.testing.assert_allclose(problem.best_map, by_lstsq, atol=1e-12)
    fitted = problem.best_map @ problem.x
    np.testing.assert_allclose(problem.sigma, fitted @ fitted.T, atol=1e-10)
    u, values = problem.eigenvectors, problem.eigenvalues
    np.testing.assert_allclose(problem.sigma @ u, u * values, atol=1e-9)
    assert (np.diff(problem.eigenvalues) < 0).all()


def test_every_level_is_the_loss_of_its_map(problem):
    for indices in ([], [1], [0, 2], [0, 1, 2]):
        assert problem.loss(problem.critical_map(indices)) == pytest.approx(problem.level(indices), rel=1e-12)
    np.testing.assert_allclose(problem.critical_map(range(3)), problem.best_map, atol=1e-12)


def test_gradient_and_hessian_of_the_factors_are_finite_differences(problem):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    assert problem.factor_loss(a, b) == pytest.approx(problem.loss(a @ b), rel=1e-12)

    def value(w):
        return problem.loss(w[:6].reshape(3, 2) @ w[6:].reshape(2, 4))

    def gradient(w):
        return np.concatenate([g.ravel() for g in problem.factor_gradient(w[:6].reshape(3, 2), w[6:].reshape(2, 4))])

    w, h = np.concatenate([a.ravel(), b.ravel()]), 1e-5
    steps = h * np.eye(14)
    np.testing.assert_allclose(gradient(w), [(value(w + e) - value(w - e)) / (2 * h) for e in steps], atol=1e-8)
    differences = [(gradient(w + e) - gradient(w - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(problem.factor_hessian(a, b), differences, atol=1e-7)


def test_a_prescribed_spectrum_is_met_exactly():
    problem = deep_linear.random_problem(6, 4, 40, key=jax.random.key(0), spectrum=(5.0, 2.0, 1.0, 0.0))
    np.testing.assert_allclose(problem.eigenvalues / 40, [5, 2, 1, 0], atol=1e-12)


def test_the_staircase_of_the_digits():
    problem = deep_linear.digits_autoencoder()
    assert problem.x.shape == (61, 1797)
    levels = [problem.level(range(k)) for k in range(5)]
    np.testing.assert_allclose(levels, [2.34664, 1.99721, 1.67763, 1.40085, 1.20350], atol=6e-6)
    np.testing.assert_allclose(problem.eigenvalues[:4] / 1797, [0.699, 0.639, 0.554, 0.395], atol=6e-4)
    np.testing.assert_allclose(problem.best_map, np.eye(61), atol=1e-9)


def test_bad_input_is_said():
    with pytest.raises(ValueError, match="constant pixels"):
        deep_linear.LinearProblem(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="as many samples"):
        deep_linear.random_problem(4, 2, 3, key=jax.random.key(0))
    with pytest.raises(ValueError, match="spectrum"):
        deep_linear.random_problem(2, 3, 9, key=jax.random.key(0), spectrum=(1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match="distinct indices"):
        deep_linear.random_problem(4, 3, 9, key=jax.random.key(0)).level([0, 0])
