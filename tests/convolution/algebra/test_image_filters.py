import jax
import numpy as np
import pytest
from scipy import ndimage

from leadline.convolution import FILTERS, centre_surround_kernel, convolve, frequency_response, sobel_gradient
from leadline.convolution.algebra.image_filters import gaussian_filter_kernel, neighbour_correlation, power_law_images

RNG = np.random.default_rng(0)


def test_sobel_is_scipys():
    image = RNG.normal(size=(9, 8))
    across, down = (ndimage.sobel(image, axis)[1:-1, 1:-1] for axis in (1, 0))
    found = sobel_gradient(image)
    np.testing.assert_allclose(found.magnitude, np.hypot(across, down), atol=1e-12)
    np.testing.assert_allclose(found.direction, np.arctan2(down, across), atol=1e-12)


def test_the_response_is_what_a_wave_is_multiplied_by():
    side, kernel = 16, RNG.normal(size=(3, 5))
    response = frequency_response(kernel, side)
    i, j = np.indices((side, side))
    for p, q in ((0, 0), (3, -2), (-8, 5)):
        wave = np.exp(2j * np.pi * (p * i + q * j) / side)
        filtered = np.roll(convolve(wave, kernel, "circular"), (-1, -2), (0, 1))
        np.testing.assert_allclose(filtered, response[side // 2 + p, side // 2 + q] * wave, atol=1e-12)


def test_gaussians_are_scipys():
    impulse = np.zeros((17, 17))
    impulse[8, 8] = 1
    expected = ndimage.gaussian_filter(impulse, 1.3, radius=6)
    np.testing.assert_allclose(gaussian_filter_kernel(1.3, 8)[2:-2, 2:-2], expected[2:-2, 2:-2], atol=1e-5)
    assert abs(centre_surround_kernel(1.0, 2.0).sum()) < 1e-15


def test_power_law_images_have_their_spectrum():
    images = power_law_images(200, 16, key=jax.random.key(0))
    power = (np.abs(np.fft.fft2(images)) ** 2).mean(0)
    assert power[0, 2] / power[0, 4] == pytest.approx(4, rel=0.3)
    assert abs(power[0, 0]) < 1e-20


def test_neighbours_of_images_are_correlated():
    image = RNG.normal(size=(64, 64))
    blurred = convolve(image, FILTERS["blur"], "circular")
    assert neighbour_correlation(blurred) == pytest.approx(2 / 3, abs=0.05)
    assert abs(neighbour_correlation(image)) < 0.1


def test_bad_widths_are_refused():
    with pytest.raises(ValueError, match="above 0"):
        gaussian_filter_kernel(0.0)
    with pytest.raises(ValueError, match="above 1"):
        centre_surround_kernel(1.0, 1.0)
