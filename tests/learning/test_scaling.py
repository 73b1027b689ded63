"""Standardised inputs, logarithms, and the exact course of gradient descent."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from leadline import learning
from leadline.learning.scaling import descent_curve, log_inputs

RNG = np.random.default_rng(3)
X = RNG.lognormal(size=(30, 3)) * np.array([1.0, 10.0, 100.0])
Y = RNG.normal(size=30)


def test_standardising_is_scikit_learns_and_can_be_undone():
    standard = learning.standardise(X)
    np.testing.assert_allclose(standard.values, StandardScaler().fit_transform(X), atol=1e-12)
    np.testing.assert_allclose(standard.values * standard.scale + standard.mean, X, atol=1e-12)
    assert learning.standardise(np.ones((4, 1))).values.tolist() == [[0.0]] * 4


def test_logarithms_are_taken_of_what_has_one():
    np.testing.assert_allclose(np.exp(log_inputs(X)), X)
    np.testing.assert_allclose(np.expm1(log_inputs(0 * X, plus_one=True)), 0.0)
    with pytest.raises(ValueError, match="plus_one=True"):
        log_inputs(np.array([[0.0]]))
    with pytest.raises(ValueError, match="at least 0"):
        log_inputs(np.array([[-1.0]]), plus_one=True)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_law_of_descent_is_what_descent_does(intercept):
    law = descent_curve(X, Y, intercept=intercept)
    matrix = learning.design(X, intercept=intercept)
    largest = 2 * np.linalg.norm(matrix, 2) ** 2 / 30
    w = np.zeros(matrix.shape[1])
    best = np.mean((matrix @ (np.linalg.pinv(matrix) @ Y) - Y) ** 2)
    seen = []
    for _ in range(20):
        seen.append(np.mean((matrix @ w - Y) ** 2) - best)
        w = w - 2 * matrix.T @ (matrix @ w - Y) / 30 / largest
    np.testing.assert_allclose(law.excess_after(np.arange(20)), seen, rtol=1e-9)
    assert law.condition == pytest.approx(np.linalg.cond(matrix) ** 2, rel=1e-9)


def test_the_number_of_steps_is_the_least_that_reaches_the_accuracy():
    law = descent_curve(learning.standardise(X).values, Y)
    steps = law.steps_to(1e-4)
    before, after = law.excess_after(np.array([steps - 1, steps])) / law.excess.sum()
    assert after <= 1e-4 < before
