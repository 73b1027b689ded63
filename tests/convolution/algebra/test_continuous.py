import numpy as np
import pytest
from scipy.integrate import quad

from leadline.convolution import fourier_transform, integral_matrix, inverse_fourier_transform, sampled_convolution


def test_an_integral_operator_is_the_integral():
    t = np.linspace(-1.0, 2.0, 2001)
    matrix = integral_matrix(lambda u, t: np.cos(u * t), np.array([0.3, 1.7]), t)
    expected = [quad(lambda s, u=u: np.cos(u * s) * np.exp(s), -1, 2)[0] for u in (0.3, 1.7)]
    np.testing.assert_allclose(matrix @ np.exp(t), expected, rtol=1e-6)


def test_a_shifted_box_has_a_shifted_sinc():
    step = 1 / 512
    t = np.arange(-8, 8, step)
    box = np.where(np.abs(t - 0.25) < 0.5, 1.0, np.where(np.isclose(np.abs(t - 0.25), 0.5), 0.5, 0.0))
    u, values = fourier_transform(box, step, start=-8.0)
    slow = np.abs(u) < 4
    expected = np.sinc(u) * np.exp(-2j * np.pi * 0.25 * u)
    np.testing.assert_allclose(values[slow], expected[slow], atol=1e-4)


@pytest.mark.parametrize("n", [2, 7, 16])
def test_the_round_trip_and_parseval(n):
    f = np.random.default_rng(1).normal(size=n)
    spectrum = fourier_transform(f, 0.3, start=1.1)
    np.testing.assert_allclose(inverse_fourier_transform(spectrum, start=1.1), f, atol=1e-12)
    spacing = 1 / (0.3 * n)
    assert (np.abs(spectrum.values) ** 2).sum() * spacing == pytest.approx((f**2).sum() * 0.3)


def test_variances_of_gaussians_add():
    t = np.arange(-8, 8, 0.05)
    bells = [np.exp(-((t - m) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v) for m, v in ((0.5, 0.5), (-1.0, 0.7))]
    both, at = sampled_convolution(*bells, 0.05), -16 + 0.05 * np.arange(2 * len(t) - 1)
    np.testing.assert_allclose(both, np.exp(-((at + 0.5) ** 2) / 2.4) / np.sqrt(2.4 * np.pi), atol=1e-12)


def test_wrong_nodes_and_steps_are_refused():
    with pytest.raises(ValueError, match="rising"):
        integral_matrix(lambda u, t: u * t, np.ones(1), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="above 0"):
        fourier_transform(np.ones(3), 0.0)
