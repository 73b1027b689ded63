"""Widths of slices against conditional variances, and of hulls against vertices found by hand."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.manifold_widths import dropped_widths, geometric_fit


def test_the_widths_of_a_ball_are_conditional_deviations():
    jacobian = np.random.default_rng(0).normal(size=(4, 6))
    found = sloppiness.ball_widths(jacobian, radius=0.5)
    gram = (jacobian @ jacobian.T)[np.ix_(found.order, found.order)]
    for k in range(4):
        known, cross = gram[:k, :k], gram[:k, k]
        left = gram[k, k] - cross @ np.linalg.solve(known, cross) if k else gram[0, 0]
        assert found.widths[k] == pytest.approx(np.sqrt(left))
    assert found.widths.prod() == pytest.approx(np.sqrt(np.linalg.det(gram)))
    assert np.all(np.diff(found.widths) < 0)


@pytest.mark.parametrize("shape", [(3, 5), (3, 3), (4, 2)])
def test_a_dropped_datum_has_the_width_that_the_others_leave(shape):
    jacobian = np.random.default_rng(1).normal(size=shape)
    widths = dropped_widths(jacobian)
    for i, width in enumerate(widths):
        others = np.delete(jacobian, i, 0)
        left = jacobian[i] - np.linalg.pinv(others) @ others @ jacobian[i]
        assert width == pytest.approx(2 * np.linalg.norm(left), abs=1e-9)


def test_the_hull_of_two_curves_is_the_segment_between_them():
    curves = np.array([[1.0, 3.0], [0.0, 5.0]])
    found = sloppiness.hull_widths(curves)
    np.testing.assert_allclose(found.widths, [5.0, 0.0], atol=1e-8)
    assert found.order == (1, 0)


def test_the_slice_of_a_square_through_its_middle():
    square = np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    assert sloppiness.hull_width(square, np.array([0.25] * 4), 1, [0]) == pytest.approx(1.0)
    assert sloppiness.hull_width(square, np.array([0.5, 0.5, 0.0, 0.0]), 0, [1]) == pytest.approx(1.0)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="sum to 1"):
        sloppiness.hull_widths(np.eye(2), np.array([0.7, 0.7]))
    with pytest.raises(ValueError, match="at least 3 positive"):
        geometric_fit(np.array([1.0, 0.0, 0.0]))
