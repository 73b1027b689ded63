"""Polynomial approximants against closed forms and SciPy."""

from math import comb

import numpy as np
import pytest
from scipy.interpolate import BPoly

from leadline.probability import bernstein_polynomial
from leadline.probability.polynomials import chebyshev_interpolant, equispaced_interpolant, largest_error


def test_bernstein_of_monomials_is_known():
    x = np.linspace(-1, 3, 7)
    np.testing.assert_allclose(bernstein_polynomial(lambda x: x, 5, low=-1.0, high=3.0)(x), x, atol=1e-13)
    unit = np.linspace(0, 1, 7)
    expected = unit**2 + unit * (1 - unit) / 8
    np.testing.assert_allclose(bernstein_polynomial(lambda x: x**2, 8)(unit), expected, atol=1e-14)


def test_bernstein_is_scipys_form_and_its_error_at_the_kink_is_exact():
    values = np.abs(np.linspace(0, 1, 13) - 0.5)
    x = np.linspace(0, 1, 9)
    kink = lambda x: np.abs(x - 0.5)  # noqa: E731
    np.testing.assert_allclose(bernstein_polynomial(kink, 12)(x), BPoly(values[:, None], [0, 1])(x), atol=1e-14)
    assert largest_error(kink, bernstein_polynomial(kink, 12)) == pytest.approx(comb(12, 6) / 2**13, rel=1e-12)


@pytest.mark.parametrize("rule", [chebyshev_interpolant, equispaced_interpolant])
def test_interpolation_reproduces_polynomials_of_its_degree(rule):
    cubic = lambda x: 1 - 2 * x + x**3  # noqa: E731
    assert largest_error(cubic, rule(cubic, 3, low=-2.0, high=1.0), low=-2.0, high=1.0) < 1e-13


def test_runge_diverges_on_equal_spaces_and_converges_at_chebyshev_points():
    runge = lambda x: 1 / (1 + 25 * x**2)  # noqa: E731
    ends = {"low": -1.0, "high": 1.0}
    chebyshev, equal = (
        [largest_error(runge, rule(runge, n, **ends), **ends) for n in (10, 40)]
        for rule in (chebyshev_interpolant, equispaced_interpolant)
    )
    assert chebyshev[1] < 1e-3 < chebyshev[0]
    assert equal[0] == pytest.approx(1.9156, abs=1e-3)
    assert equal[1] > 1e4


@pytest.mark.parametrize("rule", [bernstein_polynomial, chebyshev_interpolant, equispaced_interpolant])
def test_bad_input_is_refused(rule):
    with pytest.raises(ValueError, match="degree >= 1"):
        rule(np.sin, 0)
    with pytest.raises(ValueError, match="low < high"):
        rule(np.sin, 3, low=1.0, high=1.0)
