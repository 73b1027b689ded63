"""DCT quantisation against the cosine sum of the definition and the rounding bound."""

import numpy as np
import pytest

from leadline.neurons.coding.transform import dct_quantise, dct_reconstruct


def cosine_matrix(n):
    k, j = np.mgrid[:n, :n]
    matrix = np.sqrt(2 / n) * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
    matrix[0] /= np.sqrt(2)
    return matrix


def test_coefficients_are_those_of_the_definition():
    image = np.random.default_rng(0).random((8, 6))
    expected = np.rint(cosine_matrix(8) @ image @ cosine_matrix(6).T / 0.01)
    np.testing.assert_array_equal(dct_quantise(image, 0.01), expected)


@pytest.mark.parametrize("step", [0.01, 0.3, 2.0])
def test_the_squared_error_per_pixel_is_at_most_a_quarter_of_the_squared_step(step):
    images = np.random.default_rng(1).random((20, 8, 8))
    back = dct_reconstruct(dct_quantise(images, step), step)
    assert ((back - images) ** 2).mean((1, 2)).max() <= step**2 / 4


def test_a_fine_step_costs_a_twelfth_of_its_square():
    images = np.random.default_rng(2).random((200, 8, 8))
    back = dct_reconstruct(dct_quantise(images, 0.001), 0.001)
    assert ((back - images) ** 2).mean() == pytest.approx(0.001**2 / 12, rel=0.05)


def test_a_step_of_zero_is_refused():
    with pytest.raises(ValueError, match="positive"):
        dct_quantise(np.ones((8, 8)), 0.0)
