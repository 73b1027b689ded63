"""Ellipsoids against closed forms and Monte Carlo, the drawn polygons against their equation."""

import numpy as np
import pytest

from leadline.kernels.features.neighbours import unit_ball_volume
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness import weight_ellipsoids as ellipsoids

METRIC = np.array([[2.0, 0.7, 0.0], [0.7, 1.0, 0.2], [0.0, 0.2, 3.0]])


@pytest.mark.parametrize(("dim", "volume"), [(1, 2.0), (2, np.pi), (3, 4 * np.pi / 3), (4, np.pi**2 / 2)])
def test_the_unit_ball_has_its_known_volume(dim, volume):
    assert unit_ball_volume(dim) == pytest.approx(volume)


def test_the_volume_is_that_of_the_product_of_the_axes():
    lengths, axes = ellipsoids.semi_axes(METRIC, 0.4)
    assert ellipsoids.ellipsoid_volume(METRIC, 0.4) == pytest.approx(4 * np.pi / 3 * lengths.prod())
    np.testing.assert_allclose(np.einsum("ia,ij,ja->a", axes, METRIC, axes) * lengths**2 / 2, 0.4)
    assert ellipsoids.ellipsoid_volume(np.diag([1.0, 0.0])) == np.inf


def test_the_points_of_an_ellipsoid_satisfy_its_equation():
    directions = np.random.default_rng(0).normal(size=(20, 3))
    points = ellipsoids.ellipsoid_points(METRIC, directions, 0.3)
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", points, METRIC, points) / 2, 0.3)


def test_a_drawn_ellipse_lies_on_its_curve_and_is_closed():
    covariance, centre = np.array([[2.0, 0.5], [0.5, 0.3]]), np.array([1.0, -2.0])
    polygon = ellipsoids.ellipse_points(covariance, centre, scale=1.7, count=40)
    away = polygon - centre
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", away, np.linalg.inv(covariance), away), 1.7**2)
    np.testing.assert_allclose(polygon[0], polygon[-1])


def test_a_cramer_rao_ellipse_holds_its_share_of_estimates():
    covariance = np.linalg.inv(METRIC) / 50
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(3), covariance, size=20_000)[:, [0, 2]]
    polygon = ellipsoids.cramer_rao_ellipse(METRIC, 50, (0, 2), coverage=0.9)
    block = np.linalg.inv(covariance[np.ix_([0, 2], [0, 2])])
    radius = polygon[0] @ block @ polygon[0]
    inside = np.einsum("ki,ij,kj->k", draws, block, draws) <= radius
    assert abs(inside.mean() - 0.9) < 4 * np.sqrt(0.09 / 20_000)


def test_the_radius_of_a_linear_model_is_that_of_its_metric():
    model = sloppiness.polynomial_model(np.linspace(-1, 1, 6), 2)
    steps = np.random.default_rng(2).normal(size=(5, 3))
    expected = np.sqrt(np.einsum("ki,ij,kj->k", steps, model.metric(np.zeros(3), 0.2), steps) / 2)
    np.testing.assert_allclose(ellipsoids.data_radii(model, np.ones(3), steps, 0.2), expected)


def test_bad_matrices_are_told():
    with pytest.raises(ValueError, match="symmetric"):
        ellipsoids.ellipsoid_volume(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="negative eigenvalue"):
        ellipsoids.ellipse_points(np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="singular"):
        ellipsoids.cramer_rao_ellipse(np.diag([1.0, 0.0]), 10)
    with pytest.raises(ValueError, match="inside"):
        ellipsoids.confidence_scale(1.0)
