"""Units of a loss."""

import math

import numpy as np
import pytest

from leadline.sequences import perplexity, score_text


def test_nats_and_bits_are_two_units_of_one_perplexity():
    assert perplexity(3.0, unit="bits") == pytest.approx(8.0)
    assert perplexity(3.0 * math.log(2), unit="nats") == pytest.approx(8.0)
    assert perplexity(1e4, unit="nats") == math.inf


def test_the_unit_must_be_said():
    with pytest.raises(TypeError):
        perplexity(1.0)
    with pytest.raises(ValueError, match="below 0"):
        perplexity(-1.0, unit="nats")


def test_an_impossible_token_makes_the_score_infinite_and_is_counted():
    score = score_text(np.array([-1.0, -np.inf, -np.inf]), tokeniser="characters")
    assert score.perplexity == math.inf
    assert score.impossible == 2


def test_scores_of_two_tokenisers_are_compared_by_character_alone():
    words = score_text(np.array([-2.0]), tokeniser="words", characters=4)
    letters = score_text(np.full(4, -0.5), tokeniser="characters")
    with pytest.raises(ValueError, match="bits_per_character"):
        words.excess(letters)
    assert words.bits_per_character == pytest.approx(letters.bits_per_character)


def test_what_is_no_log_probability_is_named():
    with pytest.raises(ValueError, match="above 0"):
        score_text(np.array([0.5]), tokeniser="characters")
    with pytest.raises(ValueError, match="one for each token"):
        score_text(np.zeros(0), tokeniser="characters")
