"""The whole chain on real digits: what goes in comes out, and errors obey the codes' exact laws."""

import jax
import numpy as np
import pytest
import scipy.stats

from leadline import data
from leadline.neurons import coding


@pytest.fixture(scope="module")
def images():
    return data.digits().images[:40].reshape(-1, 8, 8)


@pytest.mark.parametrize("code", [coding.Hamming(), coding.Repetition(3), coding.Repetition(1)], ids=str)
def test_a_quiet_channel_returns_digits_exactly(images, code):
    result = coding.transmit(images, code, 0.0, key=jax.random.key(0))
    np.testing.assert_array_equal(result.images, images)
    assert result.bit_errors == result.channel_errors == 0
    assert result.distortion == 0
    assert result.entropy <= result.mean_length < result.entropy + 1
    assert result.source_bits == pytest.approx(result.mean_length * images.size)


def test_dct_compression_is_shorter_and_loses_something(images):
    lossless = coding.transmit(images, coding.Hamming(), 0.0, key=jax.random.key(0))
    lossy = coding.transmit(images, coding.Hamming(), 0.0, key=jax.random.key(0), step_size=8.0)
    assert lossy.source_bits < 0.6 * lossless.source_bits
    assert 0 < lossy.distortion <= (8 / 16) ** 2 / 4


@pytest.mark.parametrize("code", [coding.Hamming(), coding.Repetition(3), coding.Repetition(1)], ids=str)
def test_error_rates_after_decoding_are_the_exact_ones(code):
    bits = jax.random.bernoulli(jax.random.key(1), 0.5, (400_000,)).astype(int)
    received, flips = coding.send(bits, code, 0.05, key=jax.random.key(2))
    sent = 400_000 // code.message * code.length
    assert scipy.stats.binomtest(flips, sent, 0.05).pvalue > 1e-4
    blocks = np.asarray(received != bits).reshape(-1, code.message)
    assert scipy.stats.binomtest(int(blocks.any(1).sum()), len(blocks), code.block_error(0.05)).pvalue > 1e-4
    for place in range(code.message):  # bits of one block are dependent, so each place is tested on its own
        assert scipy.stats.binomtest(int(blocks[:, place].sum()), len(blocks), code.bit_error(0.05)).pvalue > 1e-4


def test_bits_that_do_not_fill_a_block_are_padded_and_returned_in_length():
    bits = np.array([1, 0, 1, 1, 1, 0])
    received, _ = coding.send(bits, coding.Hamming(), 0.0, key=jax.random.key(0))
    np.testing.assert_array_equal(received, bits)


def test_noise_damages_only_some_of_the_packets(images):
    result = coding.transmit(images, coding.Repetition(1), 0.001, key=jax.random.key(3))
    damaged = (result.images != images).any((1, 2)).sum()
    assert 0 < damaged <= result.bit_errors
    assert result.images.min() >= 0
    assert result.images.max() <= 1
