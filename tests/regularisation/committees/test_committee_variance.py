"""The law of correlated members against the covariance matrix, and its estimates against known ones."""

import numpy as np
import pytest

from leadline import regularisation


def test_the_law_is_the_quadratic_form_of_the_covariance():
    for rho, members in ((0.0, 3), (0.4, 7), (1.0, 2)):
        covariance = 2.5 * (rho * np.ones((members, members)) + (1 - rho) * np.eye(members))
        weights = np.full(members, 1 / members)
        found = regularisation.committee_variance(2.5, rho, members)
        assert found == pytest.approx(weights @ covariance @ weights, rel=1e-12)


def test_the_moments_are_unbiased():
    rng = np.random.default_rng(0)
    squares, products = [], []
    for _ in range(3000):  # few committees, where a biased estimate would be far off
        said = np.sqrt(0.3) * rng.normal(size=(4, 1, 1)) + np.sqrt(0.7) * rng.normal(size=(4, 3, 1)) + 5.0
        found = regularisation.member_moments(said)
        squares.append(found.variance)
        products.append(found.products.mean())
    for values, expected in ((squares, 1.0), (products, 0.3)):
        assert abs(np.mean(values) - expected) < 4 * np.std(values) / np.sqrt(len(values))


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="at least 2 of at least 2"):
        regularisation.member_moments(np.ones((1, 3, 2)))
    with pytest.raises(ValueError, match="correlations from −1 to 1"):
        regularisation.committee_variance(1.0, 1.5, 3)
