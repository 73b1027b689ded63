"""Vandermonde determinants and spectra against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.models.vandermonde_matrices import (
    design_matrix,
    vandermonde_log10_determinant,
    vandermonde_spectrum,
)


def exact_determinant(rows):
    """By elimination in rational numbers."""
    rows, result = [list(row) for row in rows], Fraction(1)
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        if pivot != i:
            rows[i], rows[pivot], result = rows[pivot], rows[i], -result
        result *= rows[i][i]
        for k in range(i + 1, len(rows)):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return result


@pytest.mark.parametrize("points", [np.linspace(0, 0.5, 9), np.array([-1.0, -0.3, 0.1, 2.0])])
def test_the_determinant_is_that_of_the_gram_matrix(points):
    exact = [[Fraction(float(a)) ** k for k in range(len(points))] for a in points]
    value = exact_determinant(exact) ** 2
    log10 = np.log10(float(value)) if value > Fraction(1, 10**300) else None
    assert vandermonde_log10_determinant(points) == pytest.approx(log10, abs=1e-9)


def test_smallest_eigenvalues_satisfy_the_exact_characteristic_equation():
    points = np.linspace(0, 0.5, 8)
    exact = [[Fraction(float(a)) ** k for k in range(8)] for a in points]
    gram = [[sum(row[i] * row[j] for row in exact) for j in range(8)] for i in range(8)]

    def characteristic(value):
        shifted = [[g - (Fraction(value) if i == j else 0) for j, g in enumerate(row)] for i, row in enumerate(gram)]
        return exact_determinant(shifted)

    for value in vandermonde_spectrum(points):
        assert characteristic(value * (1 - 1e-7)) * characteristic(value * (1 + 1e-7)) < 0  # a root in between


def test_the_inverse_is_right_to_rounding_where_numpy_is_not():
    points = np.linspace(0, 0.5, 10)
    found = sloppiness.inverse_vandermonde(points)
    exact = [[Fraction(float(a)) ** k for k in range(10)] for a in points]
    product = [
        [float(sum(e * Fraction(float(v)) for e, v in zip(row, col, strict=True))) for col in found.T] for row in exact
    ]
    assert np.abs(np.array(product) - np.eye(10)).max() < 1e-6  # entries reach 10¹⁰


def test_bases_span_the_same_polynomials():
    points = np.linspace(0.2, 3, 7)
    y = np.sin(points)
    fits = [
        a @ np.linalg.lstsq(a, y, rcond=None)[0]
        for a in (design_matrix(points, 3, basis) for basis in ("monomial", "chebyshev", "legendre"))
    ]
    np.testing.assert_allclose(fits[1], fits[0], atol=1e-10)
    np.testing.assert_allclose(fits[2], fits[0], atol=1e-10)


def test_bad_input():
    with pytest.raises(ValueError, match="distinct"):
        sloppiness.inverse_vandermonde(np.array([1.0, 2.0, 1.0]))
    with pytest.raises(ValueError, match="length must be positive"):
        design_matrix(np.array([1.0, 1.0]), 1, "legendre")
    assert vandermonde_log10_determinant(np.array([1.0, 1.0])) == -np.inf
