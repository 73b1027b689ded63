"""Control variates against moments of small samples."""

import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.variance_reduction.control_variates import best_coefficient, best_weight

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 50))
X = X + 0.7 * Y


def test_the_best_coefficient_is_the_regression_slope_and_leaves_the_residual_variance():
    c = best_coefficient(X, Y)
    assert c == pytest.approx(-np.polyfit(Y, X, 1)[0])
    left = np.var(stochastic.controlled(X, Y, 0.3, c))
    assert left == pytest.approx((1 - np.corrcoef(X, Y)[0, 1] ** 2) * np.var(X))
    covariance = np.cov(X, Y, ddof=0)[0, 1]
    assert stochastic.controlled_variance(np.var(X), np.var(Y), covariance, c) == pytest.approx(left)


def test_a_split_uses_the_coefficient_of_the_other_half():
    found = stochastic.controlled_mean(X, Y, 0.0, split=True)
    a, b = best_coefficient(X[:25], Y[:25]), best_coefficient(X[25:], Y[25:])
    expected = (np.mean(X[25:] + a * Y[25:]) + np.mean(X[:25] + b * Y[:25])) / 2
    assert found.estimate == pytest.approx(expected)
    assert found.coefficient == pytest.approx((a + b) / 2)


def test_the_best_weight_minimises_the_error():
    lam = np.linspace(0, 1, 2001)
    error = (1 - lam) ** 2 * 0.3 + lam**2 * 1.1
    assert best_weight(0.3, 1.1) == pytest.approx(lam[np.argmin(error)], abs=1e-3)
    assert best_weight(0.0, 0.0) == 1.0


def test_a_constant_control_is_refused():
    with pytest.raises(ValueError, match="constant"):
        best_coefficient(X, np.ones(50))
