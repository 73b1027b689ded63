"""Huffman codes against Kraft's equality, the entropy bounds and an exhaustive search."""

import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st

from leadline.neurons import coding
from leadline.neurons.coding.huffman import entropy, mean_length

COUNTS = st.dictionaries(st.integers(-50, 50), st.integers(1, 1000), min_size=1, max_size=30)


@settings(max_examples=50, deadline=None)
@given(COUNTS)
def test_the_mean_length_lies_between_the_entropy_and_one_bit_more(counts):
    code = coding.huffman_code(counts)
    length, h = mean_length(code, counts), entropy(counts)
    assert h - 1e-12 <= length < h + 1


@settings(max_examples=50, deadline=None)
@given(COUNTS)
def test_the_code_is_a_complete_prefix_code(counts):
    words = sorted(coding.huffman_code(counts).values())
    assert sum(2.0 ** -len(word) for word in words) == 1
    assert not any(after.startswith(before) for before, after in itertools.pairwise(words))


@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1), (16, 8, 4, 2, 1), (5, 5, 3, 1, 1), (100, 1, 1, 1, 1)])
def test_no_other_prefix_code_of_five_symbols_is_shorter(weights):
    counts = dict(enumerate(weights))
    best = min(
        sum(w * n for w, n in zip(weights, lengths, strict=True))
        for lengths in itertools.product(range(1, 5), repeat=5)
        if sum(2.0**-n for n in lengths) <= 1
    )
    assert mean_length(coding.huffman_code(counts), counts) * sum(weights) == pytest.approx(best)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-5, 20), min_size=1, max_size=200))
def test_decoding_returns_what_was_encoded(symbols):
    symbols = np.array(symbols)
    code = coding.huffman_code(Counter(symbols.tolist()))
    bits = coding.huffman_encode(symbols, code)
    np.testing.assert_array_equal(coding.huffman_decode(bits, code, len(symbols)), symbols)


def test_damaged_bits_give_as_many_symbols_of_the_alphabet():
    code = coding.huffman_code({0: 5, 1: 3, 2: 1, 3: 1})
    bits = np.random.default_rng(0).integers(0, 2, 37)
    for stop in range(38):
        found = coding.huffman_decode(bits[:stop], code, 20)
        assert len(found) == 20
        assert set(found.tolist()) <= {0, 1, 2, 3}


def test_entropy_is_that_of_scipy():
    counts = {3: 10, 5: 1, 8: 4}
    assert entropy(counts) == pytest.approx(scipy.stats.entropy([10, 1, 4], base=2))


def test_bad_input_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="positive"):
        coding.huffman_code({})
    with pytest.raises(ValueError, match="positive"):
        coding.huffman_code({1: 0, 2: 3})
    with pytest.raises(ValueError, match=r"no codeword for \[7\]"):
        coding.huffman_encode(np.array([1, 7]), {1: "0", 2: "1"})
