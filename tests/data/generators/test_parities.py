import jax
import numpy as np
import pytest

from leadline import data


def test_labels_are_the_product_of_the_first_signs_and_correlate_with_nothing_less():
    x, y = data.sparse_parity(20_000, 6, 3, key=jax.random.key(0), dtype=np.float32)
    assert x.dtype == np.float32
    assert set(np.unique(x)) == {-1.0, 1.0}
    np.testing.assert_array_equal(y, x[:, 0] * x[:, 1] * x[:, 2])
    lower = np.concatenate([x.T, [x[:, 0] * x[:, 1], x[:, 1] * x[:, 2]]])
    assert np.abs(lower @ y / len(y)).max() < 5 / len(y) ** 0.5


def test_an_order_beyond_the_dimension_is_refused():
    with pytest.raises(ValueError, match="order from 1 to dim"):
        data.sparse_parity(5, 2, 3, key=jax.random.key(0))


def test_fruit_have_equal_area_on_average_and_lie_within_the_image():
    fruit = data.fruit_images(4000, 18, noise=0.0, key=jax.random.key(0))
    apples, peppers = (fruit.marked[fruit.labels == s] for s in (1, -1))
    area = np.pi * 3**2
    for kind in (apples, peppers):
        assert kind.sum(axis=(1, 2)).mean() == pytest.approx(area, rel=0.02)
    spread = [np.ptp(np.argwhere(m), axis=0).max() for m in (apples[0], peppers[0])]
    assert spread[0] < spread[1]


def test_bad_fruit_are_refused():
    with pytest.raises(ValueError, match="size >= 6"):
        data.fruit_images(3, 4, key=jax.random.key(0))
