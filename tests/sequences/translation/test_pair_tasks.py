"""Pairs of texts, read by other means."""

import datetime

import jax
import numpy as np
import pytest

from leadline.sequences import copy_pairs, date_pairs, forecast_exposure, number_pairs, predicted_horizon
from leadline.sequences.translation.pair_tasks import number_words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (80, "eighty"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (512, "five hundred twelve"),
        (20000, "twenty thousand"),
        (999999, "nine hundred ninety-nine thousand nine hundred ninety-nine"),
    ],
)
def test_numbers_in_words(number, words):
    assert number_words(number) == words


def test_all_words_are_different_and_can_be_encoded():
    assert len({number_words(n) for n in range(2000)}) == 2000
    pairs = number_pairs(np.arange(0, 10**6, 997))
    assert pairs.read_target(1000) == str(997 * 1000)
    assert pairs.read_source(1000) == number_words(997 * 1000)


def test_dates_are_days_of_the_calendar_with_their_weekday():
    pairs = date_pairs(300, key=jax.random.key(0))
    for row in range(300):
        day = datetime.date.fromisoformat(pairs.read_target(row))
        source = pairs.read_source(row)
        assert str(day.year) in source
        if "day" in source:
            assert source.startswith(day.strftime("%A"))


def test_copies_have_their_lengths_and_their_ends():
    pairs = copy_pairs(200, (2, 5), 3, key=jax.random.key(0))
    lengths = (pairs.source > 0).sum(1)
    assert set(lengths) == {2, 3, 4, 5}
    np.testing.assert_array_equal(pairs.source, pairs.target[:, :-1])
    turned = copy_pairs(200, (2, 5), 3, reverse=True, key=jax.random.key(0))
    for source, target in zip(turned.source, turned.target, strict=True):
        assert target[target > 0].tolist() == source[source > 0][::-1].tolist()


def test_the_predictor_of_the_paths_has_no_exposure_bias():
    paths = np.cumprod(np.full((2, 6), 1.5), 1)
    found = forecast_exposure(lambda x: 1.5 * x, paths)
    assert np.abs(found.gap).max() < 1e-12
    assert np.isinf(found.usable_horizon(0.1)).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="999999"):
        number_words(10**6)
    with pytest.raises(ValueError, match="shortest"):
        copy_pairs(2, (3, 2), 2, key=jax.random.key(0))
    with pytest.raises(ValueError, match="positive"):
        predicted_horizon(0.0, 0.1, 1.0)
    with pytest.raises(ValueError, match="two or more"):
        forecast_exposure(lambda x: x, np.ones((2, 1)))
