"""Hamming(7,4) against nearest-codeword search and the exact numbers of the curriculum."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.neurons import coding

MESSAGES = np.array(list(itertools.product((0, 1), repeat=4)))


def codebook():
    return np.asarray(coding.Hamming().encode(MESSAGES))


def test_codewords_differ_in_at_least_three_places():
    words = codebook()
    distances = (words[:, None] != words[None]).sum(-1)
    assert distances[~np.eye(16, dtype=bool)].min() == 3


def test_decoding_finds_the_nearest_codeword_for_all_128_words():
    words = np.array(list(itertools.product((0, 1), repeat=7)))
    nearest = (words[:, None] != codebook()[None]).sum(-1).argmin(1)
    np.testing.assert_array_equal(coding.Hamming().decode(words), MESSAGES[nearest])


def test_any_single_flip_is_repaired():
    for place in range(7):
        damaged = codebook() ^ (np.arange(7) == place)
        np.testing.assert_array_equal(coding.Hamming().decode(damaged), MESSAGES)


@pytest.mark.parametrize(("eps", "error"), [(0.01, 8.743e-4), (0.05, 0.01943), (0.1, 0.06688)])
def test_the_decoded_bit_error_has_the_exact_values(eps, error):
    assert coding.Hamming().bit_error(eps) == pytest.approx(error, rel=5e-4)


def test_the_decoded_bit_error_is_nine_eps_squared_for_small_eps():
    assert coding.Hamming().bit_error(1e-5) / 1e-10 == pytest.approx(9, rel=1e-3)


@pytest.mark.parametrize("eps", [0.0, 0.03, 0.2, 0.5])
def test_errors_agree_with_an_average_over_all_messages_and_all_error_patterns(eps):
    errors = np.array(list(itertools.product((0, 1), repeat=7)))
    chance = np.prod(np.where(errors == 1, eps, 1 - eps), axis=1)
    bit, block = 0.0, 0.0
    for message, word in zip(MESSAGES, codebook(), strict=True):
        wrong = np.asarray(coding.Hamming().decode(word ^ errors)) != message
        bit += (chance * wrong.mean(1)).sum() / 16
        block += (chance * wrong.any(1)).sum() / 16
    assert coding.Hamming().bit_error(eps) == pytest.approx(bit, abs=1e-12)
    assert coding.Hamming().block_error(eps) == pytest.approx(block, abs=1e-12)


def test_bytes_stay_bytes():
    assert coding.Hamming().decode(coding.Hamming().encode(jnp.ones((2, 4), jnp.uint8))).dtype == jnp.uint8
