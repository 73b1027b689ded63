import numpy as np
import pytest

from leadline.convolution import average_gains, average_pool, energy_above_nyquist, filtered_change

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shift", [(0, 1), (2, 0), (3, -1)])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_the_change_by_the_spectrum_is_that_of_moved_pixels(shift, window):
    x = RNG.normal(size=(3, 8, 6))
    before = np.asarray(average_pool(x, window, 1, padding="wrap"), float)
    after = np.asarray(average_pool(np.roll(x, shift, (1, 2)), window, 1, padding="wrap"), float)
    found = filtered_change(x, shift, average_gains(x.shape, (window, window)))
    assert found == pytest.approx(np.linalg.norm(after - before) / np.linalg.norm(before), rel=1e-5)


def test_a_wave_is_above_or_below_the_new_nyquist_frequency():
    n = np.arange(16)
    for k in range(1, 9):
        wave = np.tile(np.cos(2 * np.pi * k * n / 16), (16, 1))
        for stride in (1, 2, 4):
            assert energy_above_nyquist(wave, (1, stride)) == pytest.approx(float(k / 16 > 0.5 / stride), abs=1e-12)
    white = RNG.normal(size=(400, 16, 16))
    assert energy_above_nyquist(white, 2) == pytest.approx(1 - 80 / 255, abs=0.01)  # 9 x 9 frequencies of 256, less one


def test_nothing_to_filter_is_said():
    with pytest.raises(ValueError, match="zero"):
        filtered_change(np.zeros((1, 4, 4)), (0, 1))
    assert energy_above_nyquist(np.ones((4, 4)), 2) == 0.0
    with pytest.raises(ValueError, match="stride"):
        energy_above_nyquist(np.ones((4, 4)), 0)
