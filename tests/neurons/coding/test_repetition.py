"""Repetition codes against the binomial tail."""

import itertools

import numpy as np
import pytest
import scipy.stats

from leadline.neurons import coding


@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_the_majority_decides_every_word(repeats):
    words = np.array(list(itertools.product((0, 1), repeat=repeats)))
    assert coding.Repetition(repeats).decode(words)[:, 0].tolist() == [2 * sum(w) > repeats for w in words.tolist()]
    np.testing.assert_array_equal(
        coding.Repetition(repeats).encode(np.array([[0], [1]])), [[0] * repeats, [1] * repeats]
    )


@pytest.mark.parametrize("repeats", [1, 3, 7])
def test_the_bit_error_is_a_binomial_tail(repeats):
    expected = scipy.stats.binom.sf(repeats // 2, repeats, 0.07)
    assert coding.Repetition(repeats).bit_error(0.07) == pytest.approx(expected)


def test_an_even_number_of_repetitions_is_refused():
    with pytest.raises(ValueError, match="odd"):
        coding.Repetition(2)
