"""Polynomial fits against numpy.polynomial, orthonormality and the least-norm interpolant."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from leadline import learning
from leadline.learning.regression.polynomial import polynomial_fit

RNG = np.random.default_rng(2)
X = RNG.uniform(-1, 3, 12)
Y = np.sin(X) + 0.1 * RNG.normal(size=12)


def test_the_features_are_orthonormal_on_their_interval():
    nodes, weights = np.polynomial.legendre.leggauss(20)
    features = learning.legendre_features(1 + 2 * nodes, 9, domain=(-1.0, 3.0))
    np.testing.assert_allclose(features.T @ (weights[:, None] / 2 * features), np.eye(10), atol=1e-12)


def test_the_fit_is_that_of_numpy_and_its_monomials_too():
    fit = polynomial_fit(X, Y, 5, domain=(-1.0, 3.0))
    reference = Polynomial.fit(X, Y, 5)
    np.testing.assert_allclose(fit.predict(X), reference(X), atol=1e-10)
    np.testing.assert_allclose(fit.monomial(), reference.convert().coef, atol=1e-9)


def test_past_interpolation_the_coefficients_are_the_shortest():
    fit = polynomial_fit(X, Y, 30, domain=(-1.0, 3.0))
    features = learning.legendre_features(X, 30, domain=(-1.0, 3.0))
    np.testing.assert_allclose(fit.predict(X), Y, atol=1e-9)
    np.testing.assert_allclose(fit.coefficients, np.linalg.pinv(features) @ Y, atol=1e-9)


def test_leading_axes_are_separate_fits():
    y = RNG.normal(size=(4, 12))
    fits = polynomial_fit(np.tile(X, (4, 1)), y, 3, domain=(-1.0, 3.0))
    one = polynomial_fit(X, y[2], 3, domain=(-1.0, 3.0))
    np.testing.assert_allclose(fits.coefficients[2], one.coefficients, atol=1e-12)
    np.testing.assert_allclose(fits.monomial()[2], one.monomial(), atol=1e-12)
    np.testing.assert_allclose(fits.predict(np.tile(X, (4, 1)))[2], one.predict(X), atol=1e-12)


def test_an_empty_interval_or_a_negative_degree_is_refused():
    with pytest.raises(ValueError, match="degree of 0 or more"):
        learning.legendre_features(X, -1)
    with pytest.raises(ValueError, match="interval"):
        learning.legendre_features(X, 2, domain=(1.0, 1.0))
