import itertools

import numpy as np
import pytest
from scipy.linalg import circulant, toeplitz

from leadline.convolution import circulant_part, convolution_matrix, convolve, layer_correlation, layer_matrix

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("mode", ["full", "same", "valid", "circular"])
@pytest.mark.parametrize(("shape", "taps"), [((6,), (3,)), ((6,), (4,)), ((5, 6), (2, 3)), ((3, 4, 3), (2, 1, 3))])
def test_the_matrix_times_the_signal_is_the_convolution(shape, taps, mode):
    f, h = RNG.integers(-9, 10, shape), RNG.integers(-9, 10, taps)
    np.testing.assert_array_equal(convolution_matrix(h, shape, mode) @ f.ravel(), convolve(f, h, mode).ravel())


def test_it_is_toeplitz_and_circulant():
    h = np.array([3, 1, 4])
    np.testing.assert_array_equal(convolution_matrix(h, 4).toarray(), toeplitz([3, 1, 4, 0, 0, 0], [3, 0, 0, 0]))
    np.testing.assert_array_equal(convolution_matrix(h, 5, "circular").toarray(), circulant([3, 1, 4, 0, 0]))


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "wrap"), itertools.product((1, 2, 3), (0, 2), (1, 2), (False, True))
)
def test_the_matrix_of_a_layer_is_the_layer(stride, padding, dilation, wrap):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "wrap": wrap}
    for sides, taps in (((7,), (3,)), ((6, 5), (3, 2))):
        x, w = RNG.integers(-9, 10, (2, *sides)), RNG.integers(-9, 10, (3, 2, *taps))
        expected = layer_correlation(x, w, **options)
        np.testing.assert_array_equal(layer_matrix(w, x.shape, **options) @ x.ravel(), expected.ravel())


def test_the_circulant_part_is_the_average_over_shifts():
    matrix = RNG.normal(size=(5, 5))
    average = np.mean([np.roll(matrix, (d, d), (0, 1)) for d in range(5)], axis=0)
    np.testing.assert_allclose(circulant(circulant_part(matrix)), average, atol=1e-14)


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="square"):
        circulant_part(np.ones((2, 3)))
