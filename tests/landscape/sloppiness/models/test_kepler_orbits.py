"""Kepler orbits against Kepler's laws and finite differences."""

import numpy as np
import pytest

from leadline.landscape.sloppiness.models.kepler_orbits import KeplerOrbit, arc_times, classical_jacobian

W = np.array([0.3, -0.2, 1.3, 0.4, -0.5, 0.7, 1.1])


def differences(function, w, step=1e-6):
    return np.stack([(function(w + step * e) - function(w - step * e)) / (2 * step) for e in np.eye(len(w))], 1)


def test_positions_lie_on_the_ellipse_with_this_focus_and_obey_the_law_of_areas():
    orbit = KeplerOrbit(np.linspace(0, 2 * np.pi / 1.1, 4001))
    x, y = orbit.predict(W).reshape(2, -1) - W[:2, None]
    other = -2 * W[2] * W[3:5]  # the empty focus, seen from the first
    np.testing.assert_allclose(np.hypot(x, y) + np.hypot(x - other[0], y - other[1]), 2 * W[2], rtol=1e-12)
    areas = (x[:-1] * y[1:] - x[1:] * y[:-1]) / 2
    np.testing.assert_allclose(areas, areas.mean(), rtol=1e-5)
    assert areas.sum() == pytest.approx(np.pi * W[2] ** 2 * np.sqrt(1 - 0.41), rel=1e-5)


@pytest.mark.parametrize("w", [W, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.7, 1.0])], ids=["ellipse", "circle"])
def test_the_jacobian_is_that_of_the_positions(w):
    orbit = KeplerOrbit(np.linspace(0, 5, 9))
    np.testing.assert_allclose(orbit.jacobian(w), differences(orbit.predict, w), atol=1e-8)


def test_classical_elements_and_bearings():
    orbit = KeplerOrbit(np.linspace(0, 5, 9))
    e, omega = np.hypot(0.4, 0.5), np.arctan2(-0.5, 0.4)
    classical = np.array([0.3, -0.2, 1.3, e, omega, 0.7 - omega, 1.1])

    def positions(c):
        return orbit.predict(np.array([*c[:3], c[3] * np.cos(c[4]), c[3] * np.sin(c[4]), c[5] + c[4], c[6]]))

    jacobian, names = classical_jacobian(orbit, W)
    assert names[3:6] == ("e", "ω", "mean anomaly")
    np.testing.assert_allclose(jacobian, differences(positions, classical), atol=1e-8)

    def bearings(w):
        x, y = orbit.predict(w).reshape(2, -1)
        return np.arctan2(y - 4.0, x - 5.0)

    np.testing.assert_allclose(orbit.bearing_jacobian(W, (5.0, 4.0)), differences(bearings, W), atol=1e-8)


def test_the_shape_alone_moves_along_the_normal():
    """The focal equation |p − F| + |p − F'| = 2a as an implicit function of (F, a, k, h) gives the same motion."""
    orbit = KeplerOrbit(np.linspace(0, 5, 9))
    x, y = orbit.predict(W).reshape(2, -1)

    def equation(shape, x, y):
        fx, fy, a, k, h = shape
        return np.hypot(x - fx, y - fy) + np.hypot(x - fx + 2 * a * k, y - fy + 2 * a * h) - 2 * a

    by_shape = differences(lambda s: equation(s, x, y), W[:5])
    step = 1e-6
    slope = np.stack(
        [
            (equation(W[:5], x + step, y) - equation(W[:5], x - step, y)) / (2 * step),
            (equation(W[:5], x, y + step) - equation(W[:5], x, y - step)) / (2 * step),
        ],
        1,
    )
    motion = -by_shape / np.linalg.norm(slope, axis=1)[:, None]  # along the outward normal
    np.testing.assert_allclose(np.abs(orbit.shape_jacobian(W)), np.abs(motion), atol=1e-7)


def test_no_ellipse_and_bad_times():
    assert np.isnan(KeplerOrbit(np.array([0.5])).predict(np.array([0, 0, 1, 0.9, 0.9, 0, 1.0]))).all()
    with pytest.raises(ValueError, match="arc in"):
        arc_times(5, 1.5)
    times = arc_times(9, 0.5, clusters=3)
    assert len(np.unique((times / np.pi).round(1))) == 3
