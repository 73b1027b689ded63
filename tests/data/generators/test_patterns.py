import jax
import numpy as np
import pytest

from leadline import data
from leadline.data.generators.patterns import binarise


def test_random_signs_are_fair_and_depend_on_the_key_only():
    signs = np.asarray(data.random_signs(200, 500, key=jax.random.key(0)))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    # The sum of 100000 fair signs has standard deviation 316; five of them are a one in a million event.
    assert abs(signs.sum()) < 5 * np.sqrt(signs.size)
    assert np.abs(signs.mean(axis=0)).max() < 5.5 / np.sqrt(200)
    assert (signs == data.random_signs(200, 500, key=jax.random.key(0))).all()
    assert (signs != data.random_signs(200, 500, key=jax.random.key(1))).any()


def test_random_signs_can_be_integers():
    signs = data.random_signs(2, 3, key=jax.random.key(0), dtype=int)
    assert np.issubdtype(signs.dtype, np.integer)


def test_random_signs_refuses_an_empty_pattern():
    with pytest.raises(ValueError, match="at least one"):
        data.random_signs(3, 0, key=jax.random.key(0))


def test_digit_bitmaps_are_the_pixelwise_majority_of_each_class():
    images, labels = data.digits()
    bitmaps = data.digit_bitmaps()
    for c in range(10):
        members = images[labels == c] * 16
        for pixel in (0, 10, 27, 36, 60):
            ink = sum(value > 8 for value in members[:, pixel])
            assert bitmaps[c, pixel] == (1 if 2 * ink >= len(members) else -1)


def test_digit_bitmaps_are_as_correlated_as_the_curriculum_says():
    bitmaps = data.digit_bitmaps()
    overlaps = [bitmaps[s] @ bitmaps[t] / 64 for s in range(10) for t in range(s)]
    assert round(float(np.mean(overlaps)), 3) == 0.545
    assert max(overlaps) == 0.8125


def test_binarise_puts_ink_strictly_above_the_threshold():
    assert binarise(np.array([[0.0, 0.5], [0.51, 1.0]])).tolist() == [[-1, -1], [1, 1]]
