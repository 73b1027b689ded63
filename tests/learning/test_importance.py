"""Importance of variables against refits, closed forms and scikit-learn."""

import jax
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from leadline import learning
from leadline.learning.importance import drop_one_rise

RNG = np.random.default_rng(6)
X = RNG.normal(size=(60, 3))
Y = X @ np.array([2.0, 1.0, 0.0]) + RNG.normal(size=60)


def test_a_refit_with_scikit_learn_gives_the_same_rise_and_the_formula_knows_it():
    def fitter(x, y):
        return LinearRegression().fit(x, y).predict

    rises = learning.refit_importance(X, Y, fitter)
    np.testing.assert_allclose(learning.refit_importance(X, Y), rises, atol=1e-12)
    np.testing.assert_allclose(drop_one_rise(X, Y) / 60, rises, rtol=1e-9)


def test_the_formula_holds_without_an_intercept():
    whole = np.linalg.lstsq(X, Y)[1][0]
    parts = [np.linalg.lstsq(np.delete(X, j, axis=1), Y)[1][0] for j in range(3)]
    np.testing.assert_allclose(drop_one_rise(X, Y, intercept=False), np.array(parts) - whole, rtol=1e-9)


def test_permuting_raises_the_error_by_twice_the_explained_variance_on_average():
    fit = learning.least_squares(X, Y)
    rises = learning.permutation_importance(fit.predict, X, Y, repeats=400, key=jax.random.key(0))
    expected = 2 * fit.weights**2 * X.var(axis=0)
    error = rises.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(rises.mean(axis=0) - expected) < 5 * error)


def test_copies_share_their_importance_and_are_flagged():
    found = learning.variable_importance(np.column_stack([X, X[:, 0]]), Y, resamples=20, key=jax.random.key(1))
    np.testing.assert_allclose(found.value[[0, 3]], 0.0, atol=1e-12)
    assert found.collinear
    alone = learning.variable_importance(X, Y, resamples=100, key=jax.random.key(1))
    assert not alone.collinear
    assert np.all(alone.low[:2] < alone.value[:2])
    assert np.all(alone.value[:2] < alone.high[:2])


def test_dependent_columns_have_no_formula():
    with pytest.raises(ValueError, match="depend on each other"):
        drop_one_rise(np.column_stack([X, X[:, 0]]), Y)
