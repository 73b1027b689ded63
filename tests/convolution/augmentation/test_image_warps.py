"""Warps against scipy.ndimage, to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from leadline.convolution.augmentation import AffineWarp, ElasticWarp, PerspectiveWarp, affine_warp, warp
from leadline.convolution.augmentation.image_warps import elastic_field, homography

IMAGES = np.random.default_rng(0).normal(size=(3, 9, 12)).astype(np.float32)
MODES = {"zeros": "grid-constant", "edge": "nearest", "wrap": "grid-wrap"}


@pytest.mark.parametrize("outside", MODES)
def test_warp_is_map_coordinates_of_order_one(outside):
    rng = np.random.default_rng(1)
    rows, columns = (rng.uniform(-0.9 * s, 1.9 * s, (5, 7)).astype(np.float32) for s in (9, 12))
    found = warp(jnp.asarray(IMAGES), jnp.asarray(rows), jnp.asarray(columns), outside=outside)
    exact = [ndimage.map_coordinates(i, [rows, columns], order=1, mode=MODES[outside]) for i in IMAGES]
    np.testing.assert_allclose(found, exact, atol=5e-6)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 90.0, -135.0])
def test_a_rotation_is_that_of_scipy(degrees):
    found = affine_warp(jnp.asarray(IMAGES), degrees=degrees)
    exact = ndimage.rotate(IMAGES, degrees, axes=(2, 1), reshape=False, order=1, mode="grid-constant")
    np.testing.assert_allclose(found, exact, atol=2e-5)


def test_shift_zoom_and_shear_are_one_affine_transform():
    shift, zoom, shear, degrees = (1.3, -0.4), 1.25, 0.2, 20.0
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    forward = turn @ (zoom * np.array([[1, 0], [shear, 1]]))
    back, centre = np.linalg.inv(forward), np.array([4.0, 5.5])
    offset = centre - back @ (centre + shift)
    found = affine_warp(jnp.asarray(IMAGES[0]), degrees=degrees, zoom=zoom, shift=shift, shear=shear)
    exact = ndimage.affine_transform(IMAGES[0], back, offset, order=1, mode="grid-constant")
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_random_affine_maps_stay_in_their_ranges_and_nothing_is_the_identity():
    key = jax.random.key(3)
    np.testing.assert_allclose(AffineWarp()(key, jnp.asarray(IMAGES)), IMAGES, atol=1e-5)
    ramp = jnp.tile(jnp.arange(41.0), (41, 1))
    moved = [AffineWarp(shift=2.0, outside="edge")(k, ramp)[20, 20] for k in jax.random.split(key, 40)]
    assert 0 < np.std(moved) < 2.0
    assert np.abs(np.array(moved) - 20).max() <= 2.0 + 1e-4


def test_an_elastic_field_is_noise_under_a_gaussian_filter_of_unit_variance():
    key = jax.random.key(1)
    noise = np.asarray(jax.random.normal(key, (2, 24, 24), jnp.float32))
    smooth = ndimage.gaussian_filter(noise, (0, 2.0, 2.0), mode="constant", truncate=20)
    unit = np.zeros(49)
    unit[24] = 1
    norm = np.linalg.norm(ndimage.gaussian_filter1d(unit, 2.0, truncate=20)) ** 2
    found = np.asarray(elastic_field(key, 24, 24, 2.0))
    np.testing.assert_allclose(found[:, 10:14, 10:14], (smooth / norm)[:, 10:14, 10:14], atol=1e-4)
    many = jax.vmap(lambda k: elastic_field(k, 8, 8, 2.0))(jax.random.split(key, 4000))
    np.testing.assert_allclose(many.var(axis=0), 1.0, atol=0.12)
    assert ElasticWarp(0.0)(key, jnp.asarray(IMAGES)) == pytest.approx(IMAGES, abs=1e-5)


def test_a_perspective_moves_the_corners_where_it_says():
    points = jnp.array([[0.0, 0.0], [0.0, 3.0], [2.0, 0.0], [2.0, 3.0]])
    images = points + jnp.array([[0.1, 0.2], [-0.1, 0.0], [0.3, 0.1], [0.0, -0.4]])
    seen = jnp.concatenate([points, jnp.ones((4, 1))], axis=1) @ homography(points, images).T
    np.testing.assert_allclose(seen[:, :2] / seen[:, 2:], images, atol=1e-5)
    assert PerspectiveWarp(0.0)(jax.random.key(0), jnp.asarray(IMAGES)) == pytest.approx(IMAGES, abs=1e-4)


def test_bad_warps_are_refused():
    with pytest.raises(ValueError, match="make it floating-point"):
        affine_warp(jnp.zeros((3, 3), int))
    with pytest.raises(ValueError, match="0 or more"):
        AffineWarp(degrees=-1.0)
    with pytest.raises(ValueError, match="smoothness"):
        ElasticWarp(1.0, 0.0)
    with pytest.raises(ValueError, match="share of the sides"):
        PerspectiveWarp(0.7)
    with pytest.raises(ValueError, match="choose one of"):
        warp(jnp.zeros((2, 2)), jnp.zeros((1, 1)), jnp.zeros((1, 1)), outside="mirror")
