"""Tikhonov fits against direct solves, SciPy's smoothing spline and their limits."""

import inspect

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from leadline import learning

RNG = np.random.default_rng(7)
X = np.linspace(0, 1, 15) + 0.01 * RNG.normal(size=15) * np.array([0] + [1] * 13 + [0])
Y = np.sin(5 * X) + 0.2 * RNG.normal(size=15)


def test_a_regular_penalty_gives_the_solution_of_the_normal_equations():
    features = RNG.normal(size=(15, 4))
    root = RNG.normal(size=(4, 4))
    penalty = root.T @ root
    fits = learning.tikhonov_fits(features, Y, penalty, np.array([0.01, 1.0]))
    for c, gamma in zip(fits.coefficients, (0.01, 1.0), strict=True):
        direct = np.linalg.solve(features.T @ features / 15 + gamma * penalty, features.T @ Y / 15)
        np.testing.assert_allclose(c, direct, atol=1e-10)
    np.testing.assert_allclose(fits.limit, 0.0)


def test_the_identity_gives_ridge():
    features = RNG.normal(size=(15, 4))
    fits = learning.tikhonov_fits(features, Y, np.eye(4), np.array([0.3]))
    np.testing.assert_allclose(
        fits.coefficients[0], learning.ridge(features, Y, 0.3, intercept=False).weights, atol=1e-12
    )


def test_the_second_derivative_gives_scipys_smoothing_spline():
    space = learning.spline_space(X, 2)
    gamma = 1e-4
    fits = learning.tikhonov_fits(space.features(X), Y, space.penalty, np.array([gamma]))
    grid = np.linspace(0, 1, 50)
    reference = make_smoothing_spline(X, Y, lam=15 * gamma)
    np.testing.assert_allclose(space.features(grid) @ fits.coefficients[0], reference(grid), atol=1e-8)


@pytest.mark.parametrize(("order", "degree"), [(1, 0), (2, 1)])
def test_a_large_penalty_leaves_what_the_seminorm_does_not_see(order, degree):
    space = learning.spline_space(np.linspace(0, 1, 9), order)
    fits = learning.tikhonov_fits(space.features(X), Y, space.penalty, np.array([1e9]))
    expected = np.polynomial.Polynomial.fit(X, Y, degree)(X)
    np.testing.assert_allclose(space.features(X) @ fits.coefficients[0], expected, atol=1e-7)
    np.testing.assert_allclose(space.features(X) @ fits.limit, expected, atol=1e-10)


def test_the_seminorm_of_a_parabola_is_exact():
    # f = x²: ∫ f″² = 4, and the broken line through its values at 0, 1/2, 1 has slopes 1/2 and 3/2.
    fine = np.linspace(0, 1, 30)
    cubic, broken = learning.spline_space(np.linspace(0, 1, 3), 2), learning.spline_space(np.linspace(0, 1, 3), 1)
    c = np.linalg.lstsq(cubic.features(fine), fine**2)[0]
    assert c @ cubic.penalty @ c == pytest.approx(4.0, rel=1e-10)
    hat = np.array([0.0, 0.25, 1.0])
    assert hat @ broken.penalty @ hat == pytest.approx(0.5 * 0.25 + 0.5 * 2.25, rel=1e-12)


def test_several_targets_are_fitted_at_once():
    space = learning.spline_space(np.linspace(0, 1, 9), 2)
    both = learning.tikhonov_fits(space.features(X), np.stack([Y, X]), space.penalty, np.array([0.1, 1.0]))
    one = learning.tikhonov_fits(space.features(X), Y, space.penalty, np.array([0.1, 1.0]))
    np.testing.assert_allclose(both.coefficients[0], one.coefficients, atol=1e-12)


def test_bad_input_is_named():
    tikhonov_fits = inspect.unwrap(learning.tikhonov_fits)
    with pytest.raises(ValueError, match="do not match"):
        tikhonov_fits(np.ones((3, 2)), np.ones(4), np.eye(2), np.ones(1))
    with pytest.raises(ValueError, match="above 0"):
        tikhonov_fits(np.ones((3, 2)), np.ones(3), np.eye(2), np.zeros(1))
    with pytest.raises(ValueError, match="semidefinite"):
        tikhonov_fits(np.ones((3, 2)), np.ones(3), -np.eye(2), np.ones(1))
    with pytest.raises(ValueError, match="increasing sites"):
        learning.spline_space(np.array([0.0, 0.0]), 1)
