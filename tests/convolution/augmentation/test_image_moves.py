"""Moves by whole pixels, hidden squares and changes of values, against NumPy and `convolution.shift_images`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution.augmentation import Brightness, Contrast, Crop, Cutout, Flip, Noise, Shift, Threshold
from leadline.convolution.symmetry.image_transformations import shift_images

IMAGE = jnp.asarray(np.random.default_rng(0).uniform(size=(2, 6, 5)), jnp.float32)
KEYS = jax.random.split(jax.random.key(0), 200)


def _all(step, image=IMAGE):
    return np.asarray(jax.vmap(step, (0, None))(KEYS, image))


@pytest.mark.parametrize("wrap", [True, False])
def test_every_shift_of_the_reach_occurs_and_no_other(wrap):
    found = {a.tobytes() for a in _all(Shift(1, wrap=wrap))}
    plane = np.asarray(IMAGE)
    exact = {
        np.ascontiguousarray(shift_images(plane, d, r, wrap=wrap)).tobytes() for d in (-1, 0, 1) for r in (-1, 0, 1)
    }
    assert found == exact


def test_a_crop_is_a_window_of_the_padded_image():
    padded = np.pad(np.asarray(IMAGE), ((0, 0), (1, 1), (1, 1)))
    exact = {padded[:, i : i + 4, j : j + 5].tobytes() for i in range(5) for j in range(3)}
    assert {a.tobytes() for a in _all(Crop((4, 5), padding=1))} == exact


def test_a_flip_mirrors_about_its_axis_as_often_as_it_says():
    for way, axis in (("left-right", 2), ("up-down", 1)):
        found = _all(Flip(way, 0.25))
        mirrored = (found == np.flip(np.asarray(IMAGE), axis)).all(axis=(1, 2, 3))
        assert (mirrored | (found == np.asarray(IMAGE)).all(axis=(1, 2, 3))).all()
        assert 0.1 < mirrored.mean() < 0.4


def test_cutout_hides_one_square_of_every_channel():
    hidden = _all(Cutout(2, fill=-1.0)) == -1
    assert (hidden.sum(axis=(1, 2, 3)) == 2 * 4).all()
    assert (hidden[:, 0] == hidden[:, 1]).all()
    assert len({h.tobytes() for h in hidden}) == 5 * 4


def test_values_stay_in_their_bounds_and_follow_their_formulas():
    key = jax.random.key(5)
    for step in (Brightness(0.9), Contrast(3.0), Noise(2.0, bounds=(0.0, 1.0)), Threshold(0.2, 0.8)):
        found = _all(step)
        assert found.shape == (200, *IMAGE.shape)
        assert found.min() >= 0
        assert found.max() <= 1
        assert found.std() > 0
    moved = Brightness(0.3, bounds=None)(key, IMAGE) - IMAGE
    assert float(jnp.ptp(moved)) < 1e-6
    assert abs(float(moved[0, 0, 0])) <= 0.3
    sharper = Contrast(0.5, bounds=None)(key, IMAGE)
    ratio = (sharper - IMAGE.mean()) / (IMAGE - IMAGE.mean())
    assert float(jnp.ptp(ratio)) < 1e-3
    assert 1 / 1.5 <= float(ratio[0, 0, 0]) <= 1.5
    assert abs((_all(Noise(0.5)) - np.asarray(IMAGE)).std() - 0.5) < 0.02


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Flip("left-right", 1.5), "between 0 and 1"),
        (lambda: Flip("diagonal"), "choose"),
        (lambda: Shift(-1), "0 or more"),
        (lambda: Crop(0), "at least 1"),
        (lambda: Threshold(0.9, 0.1), "smaller one first"),
        (lambda: Noise(float("nan")), "0 or more"),
        (lambda: Crop(9, padding=1)(jax.random.key(0), IMAGE), "at most 8 x 7"),
        (lambda: Cutout(6)(jax.random.key(0), IMAGE), "smaller square"),
        (lambda: Shift(1)(jax.random.key(0), jnp.zeros((4, 4), "uint8")), "type uint8"),
        (lambda: Noise(1.0)(jax.random.key(0), jnp.zeros((4, 4), int)), "floating-point"),
        (lambda: Flip()(jax.random.key(0), jnp.zeros(4)), "height, width"),
    ],
)
def test_bad_moves_are_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words) as told:
        make()
    assert "\n" not in str(told.value)
