"""Tokens and sounds: each change against what it may do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution.augmentation import (
    AxisMask,
    Gain,
    SynonymSwap,
    TimeShift,
    TimeStretch,
    TokenDropout,
    TokenMasking,
    WordOrderNoise,
)
from leadline.convolution.augmentation.sounds import stretched

KEYS = jax.random.split(jax.random.key(0), 300)
TEXT = jnp.array([5, 6, 7, 8, 9, 0, 0])
WAVE = jnp.sin(jnp.arange(50.0) / 3)


def _all(step, example):
    return np.asarray(jax.vmap(step, (0, None))(KEYS, example))


def test_dropped_tokens_leave_the_rest_in_order_and_padding_at_the_end():
    found = _all(TokenDropout(0.3, padding=0), TEXT)
    for row in found:
        kept = row[row != 0]
        assert (np.diff(kept) > 0).all()
        assert (row[len(kept) :] == 0).all()
    assert 0.6 < (found != 0).sum() / (300 * 5) < 0.8


def test_masking_spares_padding_and_hits_at_its_rate():
    found = _all(TokenMasking(0.2, mask=3, padding=0), TEXT)
    assert (found[:, 5:] == 0).all()
    assert set(found[:, 0]) == {3, 5}
    assert 0.15 < (found[:, :5] == 3).mean() < 0.25


def test_word_order_noise_moves_no_token_beyond_its_reach():
    found = _all(WordOrderNoise(2, padding=0), TEXT)
    places = found[:, :5] - 5
    assert (found[:, 5:] == 0).all()
    assert np.abs(places - np.arange(5)).max() == 2
    assert (np.sort(places, axis=1) == np.arange(5)).all()
    assert (_all(WordOrderNoise(0), TEXT) == np.asarray(TEXT)).all()


def test_synonyms_come_from_the_table():
    found = _all(SynonymSwap(np.array([[0, 0], [2, 3], [2, 2], [3, 3]]), 0.5), jnp.array([0, 1, 2]))
    assert set(found[:, 1]) == {1, 2, 3}
    assert (found[:, 0] == 0).all()
    assert (found[:, 2] == 2).all()


def test_time_shifts_let_silence_in_or_go_round():
    wave = jnp.arange(1.0, 5.0)
    padded = np.pad(np.asarray(wave), 2)
    assert {a.tobytes() for a in _all(TimeShift(2), wave)} == {padded[k : k + 4].tobytes() for k in range(5)}
    assert {tuple(sorted(a)) for a in _all(TimeShift(2, wrap=True), wave)} == {(1.0, 2.0, 3.0, 4.0)}


def test_gain_is_in_decibels():
    louder = _all(Gain(6.0), WAVE)[:, 7] / float(WAVE[7])
    decibels = 20 * np.log10(louder)
    assert np.abs(decibels).max() <= 6.0 + 1e-4
    assert decibels.std() > 2


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.0, 1.37])
def test_a_stretch_is_linear_interpolation_with_silence_behind(speed):
    at = np.arange(50) * np.float32(speed)
    exact = np.interp(at, np.arange(50), np.asarray(WAVE), right=0.0)
    np.testing.assert_allclose(stretched(WAVE, speed), exact, atol=1e-4)
    assert TimeStretch(0.2)(KEYS[0], jnp.ones((3, 8))).shape == (3, 8)


def test_masks_hide_whole_times_or_whole_frequencies():
    sound = jnp.ones((6, 9))
    for axis, at in (("time", 1), ("frequency", 0)):
        found = _all(AxisMask(axis, 3), sound) == 0
        lines = found.any(axis=2 - at)
        assert (found == (lines[:, None] if at else lines[:, :, None])).all()
        widths = lines.sum(axis=1)
        assert set(widths) == {0, 1, 2, 3}
        edges = np.abs(np.diff(np.pad(lines, ((0, 0), (1, 1))).astype(int), axis=1)).sum(axis=1)
        assert (edges <= 2).all()  # one stretch


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TokenDropout(1.2, padding=0), "between 0 and 1"),
        (lambda: TokenMasking(0.1, mask=1)(KEYS[0], jnp.ones(3)), "whole numbers"),
        (lambda: SynonymSwap(np.array([[4]]), 0.1), "a row for every token"),
        (lambda: AxisMask("time", 20)(KEYS[0], jnp.ones((6, 9))), "at most 9"),
        (lambda: AxisMask("frequency", 2)(KEYS[0], WAVE), "spectrogram"),
        (lambda: AxisMask("space", 2), "choose"),
        (lambda: Gain(1.0)(KEYS[0], jnp.ones(3, "int16")), "floating-point"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
