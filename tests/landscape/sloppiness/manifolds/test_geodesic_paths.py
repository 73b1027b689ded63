"""Geodesics against great circles, straight lines and an arc length by quadrature."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.model_manifolds import haversine, sphere_model

SPHERE = sphere_model()


@pytest.mark.parametrize(("a", "b"), [((0.6, 0.2), (1.3, 1.9)), ((1.2, 0.1), (2.0, 2.9)), ((0.9, 3.0), (1.4, -2.9))])
def test_the_geodesics_of_the_sphere_are_great_circles(a, b):
    found = sloppiness.geodesic_between(SPHERE, np.array(a), np.array(b), segments=8)
    assert found.stopped == ""
    assert found.length == pytest.approx(haversine(a, b), abs=1e-6)
    assert np.ptp(found.speeds) < 1e-5
    normal = np.cross(found.points[0], found.points[-1])
    np.testing.assert_allclose(found.points @ normal, 0.0, atol=1e-6)


def test_a_shot_from_one_end_of_a_geodesic_reaches_the_other():
    between = sloppiness.geodesic_between(SPHERE, np.array([0.6, 0.2]), np.array([1.3, 1.9]), segments=8, tol=1e-8)
    shot = sloppiness.shoot_geodesic(SPHERE, between.weights[0], between.velocities[0], 1.0)
    np.testing.assert_allclose(shot.weights[-1], between.weights[-1], atol=1e-6)
    assert shot.stopped == ""


def test_a_geodesic_of_a_linear_model_is_straight():
    model = sloppiness.polynomial_model(np.linspace(-1, 1, 5), 2)
    v = np.array([1.0, -2.0, 0.5])
    path = sloppiness.shoot_geodesic(model, np.zeros(3), v, 2.0, count=5)
    np.testing.assert_allclose(path.weights, np.linspace(0, 2, 5)[:, None] * v, atol=1e-9)
    between = sloppiness.geodesic_between(model, np.zeros(3), v, segments=4)
    assert between.length == pytest.approx(np.linalg.norm(model.predict(v)))


def test_one_exponential_ends_after_the_length_of_its_curve():
    from scipy.integrate import quad

    times = np.array([0.5, 1.0, 2.0])
    model = sloppiness.sum_of_exponentials(times, 1)
    whole = quad(lambda r: np.linalg.norm(times * np.exp(-r * times)), 0.4, np.inf)[0]
    path = sloppiness.shoot_geodesic(model, np.array([0.4]), np.array([1.0]), 100.0, edge=1e-7)
    assert "boundary" in path.stopped
    assert path.length == pytest.approx(whole, abs=1e-5)


def test_the_least_energy_path_has_equal_chords_and_is_shorter_than_its_guess():
    ends = np.array([[0.5, 0.1], [1.9, 2.0]])
    guess = np.linspace(*ends, 9)
    path = sloppiness.least_energy_path(SPHERE, guess)
    chords, before = (np.linalg.norm(np.diff(SPHERE.predict(p), axis=0), axis=1) for p in (path, guess))
    np.testing.assert_allclose(chords, chords[0], rtol=1e-4)
    assert chords.sum() < before.sum()
    assert chords[0] == pytest.approx(2 * np.sin(haversine(*ends) / 16), rel=1e-4)


def test_a_velocity_that_changes_nothing_is_told():
    with pytest.raises(ValueError, match="changes no prediction"):
        sloppiness.shoot_geodesic(SPHERE, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
