"""Linear fits against scikit-learn, closed forms and brute force."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from leadline import learning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 3.0 + RNG.normal(size=40)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("method", ["svd", "qr", "normal"])
def test_every_solver_agrees_with_scikit_learn(method, intercept):
    fit = learning.least_squares(X, Y, intercept=intercept, method=method)
    reference = LinearRegression(fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(fit.weights, reference.coef_, atol=1e-12)
    np.testing.assert_allclose(fit.bias, reference.intercept_, atol=1e-12)
    np.testing.assert_allclose(fit.predict(X), reference.predict(X), atol=1e-12)


def test_jax_arrays_stay_jax_arrays_and_can_be_mapped_and_differentiated():
    x, y = jnp.asarray(X), jnp.asarray(Y)
    fit = learning.least_squares(x, y)
    assert isinstance(fit.weights, jax.Array)
    np.testing.assert_allclose(fit.weights, learning.least_squares(X, Y).weights, atol=1e-12)
    slope = jax.jacobian(lambda y: learning.least_squares(x, y, method="qr").weights)(y)
    np.testing.assert_allclose(slope, np.linalg.pinv(learning.design(X))[:4], atol=1e-12)


def test_leading_axes_are_separate_problems():
    x = RNG.normal(size=(3, 20, 2))
    y = RNG.normal(size=(3, 20))
    fits = learning.least_squares(x, y)
    for k in range(3):
        one = learning.least_squares(x[k], y[k])
        np.testing.assert_allclose(fits.weights[k], one.weights, atol=1e-12)
        np.testing.assert_allclose(fits.predict(x)[k], one.predict(x[k]), atol=1e-12)


def test_the_dtype_of_the_data_is_kept_and_integers_become_floats():
    assert learning.least_squares(X.astype(np.float32), Y.astype(np.float32)).weights.dtype == np.float32
    fit = learning.least_squares(np.array([[0], [1], [2]]), np.array([1, 3, 5]))
    np.testing.assert_allclose([fit.weights[0], fit.bias], [2.0, 1.0], atol=1e-12)


def test_deficient_data_give_the_shortest_minimiser_and_its_null_space():
    x = np.column_stack([X, X[:, 0] + X[:, 1], np.full(40, 2.0)])
    basis = learning.null_space(x)
    assert basis.shape == (7, 2)
    np.testing.assert_allclose(learning.design(x) @ basis, 0.0, atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    fit = learning.least_squares(x, Y)
    np.testing.assert_allclose(basis.T @ np.append(fit.weights, fit.bias), 0.0, atol=1e-10)
    assert learning.null_space(X).shape == (5, 0)


def test_fewer_examples_than_weights_are_interpolated():
    fit = learning.least_squares(X[:3], Y[:3])
    np.testing.assert_allclose(fit.predict(X[:3]), Y[:3], atol=1e-12)


def test_total_least_squares_is_least_in_distance_among_neighbours():
    fit = learning.total_least_squares(X, Y)

    def distances(w, b):
        return np.sum((Y - X @ w - b) ** 2) / (1 + w @ w)

    least = distances(fit.weights, fit.bias)
    step = 1e-4
    for j in range(4):
        for sign in (-1, 1):
            assert distances(fit.weights + sign * step * np.eye(4)[j], fit.bias) > least
    assert distances(fit.weights, fit.bias + step) > least


def test_total_least_squares_refuses_too_few_points_and_vertical_planes():
    with pytest.raises(ValueError, match="more than inputs"):
        learning.total_least_squares(X[:4], Y[:4])
    with pytest.raises(ValueError, match="vertical"):
        learning.total_least_squares(np.zeros((3, 1)), np.array([0.0, 1.0, 2.0]))


def test_the_chebyshev_line_equioscillates_as_known_for_the_parabola():
    # The best line for x² on [0, 1] is x − 1/8, with error 1/8 at 0, 1/2 and 1.
    x = np.linspace(0, 1, 101)
    fit = learning.chebyshev_fit(x[:, None], x**2)
    np.testing.assert_allclose([fit.weights[0], fit.bias, fit.height], [1.0, -0.125, 0.125], atol=1e-9)
    assert np.flatnonzero(fit.active).tolist() == [0, 50, 100]


def test_the_chebyshev_constant_is_the_midrange():
    fit = learning.chebyshev_fit(np.empty((3, 0)), np.array([1.0, 2.0, 9.0]))
    assert fit.bias == pytest.approx(5.0, abs=1e-9)
    assert fit.height == pytest.approx(4.0, abs=1e-9)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="do not match"):
        inspect.unwrap(learning.least_squares)(X, Y[:-1])
    with pytest.raises(ValueError, match="choose 'svd'"):
        inspect.unwrap(learning.least_squares)(X, Y, method="lu")
