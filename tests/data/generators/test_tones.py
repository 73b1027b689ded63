import jax
import numpy as np
import pytest

from leadline.data import noisy_tones


def test_without_noise_the_spectrum_has_one_line_at_the_pitch():
    waves, labels = noisy_tones(40, pitches=5, noise=0.0, key=jax.random.key(0))
    power = np.abs(np.fft.rfft(waves, axis=1)) ** 2
    assert (power.argmax(1) == 2 * (labels + 1)).all()
    np.testing.assert_allclose(power.max(1), power.sum(1), rtol=1e-9)


def test_pitches_above_half_the_sampling_rate_are_refused():
    with pytest.raises(ValueError, match="give 1 to 15"):
        noisy_tones(4, pitches=16, key=jax.random.key(0))
