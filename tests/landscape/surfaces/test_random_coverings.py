"""Caps against closed forms and simulation."""

import numpy as np
import pytest

from leadline.landscape.surfaces.random_coverings import (
    cap_fraction,
    cap_radius,
    covering_constant,
    expected_uncovered,
    typical_radius,
    unit_rows,
)


def test_caps_have_their_closed_forms_in_two_and_three_dimensions():
    r = np.linspace(0, 2, 21)
    np.testing.assert_allclose(cap_fraction(r, 3), r**2 / 4, atol=1e-12)
    np.testing.assert_allclose(cap_fraction(r, 2), 2 * np.arcsin(r / 2) / np.pi, atol=1e-7)


@pytest.mark.parametrize("dim", [2, 3, 7])
def test_the_radius_inverts_the_fraction_and_simulation_agrees(dim):
    share = np.array([1e-6, 0.1, 0.5, 0.77])
    np.testing.assert_allclose(cap_fraction(cap_radius(share, dim), dim), share, rtol=1e-8)
    rows = unit_rows(np.random.default_rng(0), 20_000, dim)
    inside = np.linalg.norm(rows - rows[0], axis=1)[1:] < 1.1
    assert inside.mean() == pytest.approx(cap_fraction(1.1, dim).item(), abs=4 * np.sqrt(0.25 / 20_000))


def test_the_typical_radius_has_the_expected_count_and_tends_to_the_law():
    assert expected_uncovered(typical_radius(1000, 4, expected=0.3), 1000, 4).item() == pytest.approx(0.3, rel=1e-9)
    n = 10**9
    assert typical_radius(n, 3) == pytest.approx(covering_constant(3) * np.sqrt(np.log(n) / n), rel=0.03)
    with pytest.raises(ValueError, match="at least 2"):
        cap_fraction(0.5, 1)
