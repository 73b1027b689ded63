"""Decoders on a small table of probabilities, against all texts."""

import itertools

import jax
import numpy as np
import pytest

from leadline.sequences import beam_search, fit_ngrams, greedy_decode, sample_decode, truncate_to_nucleus

CHAIN = np.log(np.random.default_rng(3).dirichlet(np.ones(4), 4))
START = np.array([1, 2])


def step(state, tokens):
    return CHAIN[tokens], state


def score(start, text, end=None):
    total, before = 0.0, start
    for token in text:
        total += CHAIN[before, token]
        before = token
        if token == end:
            break
    return total


@pytest.mark.parametrize("end", [None, 0])
def test_a_wide_beam_finds_the_best_of_all_texts(end):
    found = beam_search(step, (), START, width=64, max_length=3, end=end)
    for row, start in enumerate(START):
        every = {t: score(start, t, end) for t in itertools.product(range(4), repeat=3)}
        best = max(every.values())
        assert found.log_probability[row, 0] == pytest.approx(best)
        assert score(start, found.tokens[row, 0], end) == pytest.approx(best)


def test_a_beam_of_one_is_greedy():
    beam, greedy = beam_search(step, (), START, width=1, max_length=5), greedy_decode(step, (), START, max_length=5)
    np.testing.assert_array_equal(beam.tokens[:, 0], greedy.tokens)
    np.testing.assert_allclose(beam.log_probability[:, 0], greedy.log_probability)


def test_a_text_that_has_ended_stays_as_it_is():
    found = sample_decode(step, (), np.zeros(200, int) + 1, max_length=6, end=0, key=jax.random.key(0))
    for text, total in zip(found.tokens, found.log_probability, strict=True):
        ends = np.flatnonzero(text == 0)
        assert not ends.size or (text[ends[0] :] == 0).all()
        assert total == pytest.approx(score(1, text, 0))


def test_long_texts_can_be_favoured():
    short = np.log(np.array([[0.4, 0.6], [0.45, 0.55]]))
    plain = beam_search(lambda s, t: (short[t], s), (), np.array([1]), width=4, max_length=6, end=0)
    long = beam_search(lambda s, t: (short[t], s), (), np.array([1]), width=4, max_length=6, end=0, length_power=2.0)
    assert (plain.tokens[0, 0] != 0).sum() <= (long.tokens[0, 0] != 0).sum()


def test_states_follow_their_hypotheses():
    model = fit_ngrams(np.random.default_rng(0).integers(0, 3, 300), 3, symbols=3)
    found = beam_search(model.step, np.full((1, 2), -1), np.array([0]), width=9, max_length=3)
    logs = model.log_probabilities(found.tokens[0, 0], before=[0]).sum()
    assert found.log_probability[0, 0] == pytest.approx(logs)
    best = max(model.log_probabilities(list(t), before=[0]).sum() for t in itertools.product(range(3), repeat=3))
    assert logs == pytest.approx(best)


def test_the_nucleus_is_the_least_set_with_its_mass():
    logs = np.log(np.array([[0.1, 0.4, 0.3, 0.2]]))
    assert np.isfinite(truncate_to_nucleus(logs, 0.4)[0]).tolist() == [False, True, False, False]
    assert np.isfinite(truncate_to_nucleus(logs, 0.41)[0]).tolist() == [False, True, True, False]
    np.testing.assert_allclose(truncate_to_nucleus(logs, 1.0), logs)
    with pytest.raises(ValueError, match="above 0"):
        truncate_to_nucleus(logs, 0.0)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="positive"):
        sample_decode(step, (), START, max_length=2, temperature=0.0, key=jax.random.key(0))
    with pytest.raises(ValueError, match="both must be positive"):
        beam_search(step, (), START, width=0, max_length=2)
    with pytest.raises(ValueError, match="1 or more"):
        greedy_decode(step, (), START, max_length=0)
