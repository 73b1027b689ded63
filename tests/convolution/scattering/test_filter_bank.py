import numpy as np
import pytest

from leadline.convolution import gabor_2d, littlewood_paley, morlet_2d, morlet_bank_1d, morlet_bank_2d
from leadline.convolution.scattering.morlet_wavelets import gauss_1d, morlet_1d

# kymatio 0.3.0 (scipy 1.16.3): Scattering2D(2, (9, 12), L=4).psi[6]['levels'][0], eight numbers of rows 1 and -1.
ROW = [0.1820484, 0.0223234, -0.033102, -0.0307654, -0.0154882, -0.0054251, -0.0014099, -0.0002776]
LAST_ROW = [-0.0787917, -0.0953139, -0.0743104, -0.0419777, -0.0178578, -0.0058141, -0.0014596, -0.0002834]
# Scattering1D(3, 80, Q=(3, 1)): the value of each psi1_f[...]['levels'][0] at 20, of 128 frequencies.
AT_TWENTY = [0.000326, 0.0066335, 0.1081971, 0.7402526, 0.6643731, 0.0104316, 0.0, 0.0]


def test_filters_are_those_of_kymatio():
    bank = morlet_bank_2d((16, 20), scales=2, angles=4)
    np.testing.assert_allclose(bank.wavelets[6][[1, -1], :8], [ROW, LAST_ROW], atol=1e-6)
    np.testing.assert_allclose(morlet_bank_1d(128, 3, 3).wavelets[:, 20], AT_TWENTY, atol=1e-6)


def test_a_gabor_wave_on_a_large_grid_is_its_formula():
    """The transform of a Gaussian times a plane wave: a Gaussian around the frequency, turned and slanted as it is."""
    width, frequency, angle, slant = 2.5, 1.1, 0.6, 0.5
    f = 2 * np.pi * np.fft.fftfreq(64)
    along = np.cos(angle) * f[:, None] + np.sin(angle) * f
    across = np.cos(angle) * f - np.sin(angle) * f[:, None]
    expected = np.exp(-(width**2) / 2 * ((along - frequency) ** 2 + (across / slant) ** 2))
    np.testing.assert_allclose(np.fft.fft2(gabor_2d((64, 64), width, frequency, angle, slant)), expected, atol=1e-8)


def test_a_morlet_wave_has_no_mean_and_a_gabor_wave_has():
    assert abs(morlet_2d((32, 32), 1.5, 1.0).sum()) < 1e-14
    np.testing.assert_allclose(gabor_2d((32, 32), 1.5, 1.0).sum(), np.exp(-(1.5**2) / 2), atol=1e-12)
    assert morlet_1d(64, 0.2, 0.05)[0] == 0


def test_filters_of_signals_have_mass_one():
    for transform in (gauss_1d(64, 0.03), morlet_1d(64, 0.2, 0.05)):
        np.testing.assert_allclose(np.abs(np.fft.ifft(transform)).sum(), 1.0, rtol=1e-14)
    with pytest.raises(ValueError, match="width 0"):
        gauss_1d(64, 0.0)


def test_rising_scales_are_the_same_filters_from_low_to_high():
    falling, rising = (morlet_bank_2d((16, 16), 3, 4, rising=flag) for flag in (False, True))
    assert rising.scales.tolist() == falling.scales.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_array_equal(rising.wavelets[:4], falling.wavelets[8:])
    ratios = np.linalg.norm(rising.frequencies[4:8], axis=1) / np.linalg.norm(rising.frequencies[:4], axis=1)
    np.testing.assert_allclose(ratios, 2.0)


@pytest.mark.parametrize("bank", [morlet_bank_1d(64, 3, 2), morlet_bank_2d((16, 24), 2, 4)])
def test_the_littlewood_paley_sum_is_what_waves_keep(bank):
    """A real wave of each frequency, filtered: the energy that comes out of all filters together."""
    sums = littlewood_paley(bank)
    rng = np.random.default_rng(0)
    axes = tuple(range(len(bank.shape)))
    for _ in range(5):
        k = [int(rng.integers(side)) for side in bank.shape]
        if all(2 * a % side == 0 for a, side in zip(k, bank.shape, strict=True)):
            continue
        positions = np.meshgrid(*(np.arange(side) for side in bank.shape), indexing="ij")
        turns = sum(a * u / side for a, u, side in zip(k, positions, bank.shape, strict=True))
        wave = np.cos(2 * np.pi * turns + 0.4)
        out = [np.fft.ifftn(np.fft.fftn(wave) * f, axes=axes) for f in (bank.lowpass, *bank.wavelets)]
        kept = sum(np.linalg.norm(part) ** 2 for part in out) / np.linalg.norm(wave) ** 2
        np.testing.assert_allclose(kept, sums[tuple(k)], rtol=1e-10)
    np.testing.assert_allclose(littlewood_paley(bank.normalised()), sums / sums.max(), rtol=1e-12)
