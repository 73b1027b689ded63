"""Encoders and decoders with random weights: what they must do before they can do anything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import (
    EncoderDecoder,
    Pairs,
    ScheduledSampling,
    decoding_exposure,
    exact_matches,
    roll_out,
    teacher_forcing,
    text_log_probability,
    translate_sequences,
)

SOURCES = np.array([[1, 2, 3], [3, 0, 0]])


@pytest.fixture(scope="module")
def net():
    return EncoderDecoder(4, 3, 5, attention=True, key=jax.random.key(0))


def test_padding_of_the_source_changes_nothing(net):
    target = jnp.array([1, 2, 0])
    short, long = (net.log_probabilities(jnp.array(x), target) for x in ([3, 1], [3, 1, 0, 0]))
    np.testing.assert_allclose(short, long, atol=1e-14)


def test_the_score_of_what_is_written_is_its_log_probability(net):
    for options in ({}, {"width": 3}, {"temperature": 1.0, "key": jax.random.key(1)}):
        written = translate_sequences(net, SOURCES, max_length=4, **options)
        logs = text_log_probability(net, jnp.asarray(SOURCES), jnp.asarray(written.tokens))
        np.testing.assert_allclose(written.log_probability, logs, atol=1e-12)


def test_own_outputs_that_are_true_change_nothing(net):
    written = translate_sequences(net, SOURCES, max_length=4).tokens
    found = decoding_exposure(net, Pairs(SOURCES, written))
    np.testing.assert_allclose(np.nan_to_num(found.free), np.nan_to_num(found.forced), atol=1e-14)


def test_no_own_output_is_teacher_forcing(net):
    batch = Pairs(jnp.asarray(SOURCES), jnp.array([[1, 2, 0], [2, 0, 0]]))
    forced, _ = teacher_forcing(net, batch, None, None)
    sampled, _ = ScheduledSampling(0.0)(net, batch, jax.random.key(0), None)
    np.testing.assert_allclose(sampled.losses, forced.losses, atol=1e-12)
    np.testing.assert_array_equal(sampled.weights, [[1, 1, 1], [1, 1, 0]])


def test_without_feedback_outputs_do_not_see_what_was_written():
    deaf = EncoderDecoder(4, 3, 5, feedback=False, key=jax.random.key(0))
    a, b = (deaf.log_probabilities(jnp.array([1, 2]), jnp.array(y)) for y in ([1, 1, 1], [2, 2, 2]))
    np.testing.assert_array_equal(a, b)


def test_attention_is_on_the_source_alone(net):
    memory = net.encode(jnp.array([1, 2, 0]))
    weights = net.attention_weights(memory, memory.outputs[0])
    assert float(weights[2]) == 0
    assert float(weights.sum()) == pytest.approx(1)


def test_a_longer_text_is_no_match():
    written = translate_sequences(EncoderDecoder(4, 3, 5, key=jax.random.key(2)), SOURCES, max_length=3)
    longer = np.concatenate([np.where(written.tokens == 0, 1, written.tokens), np.ones((2, 1), int)], 1)
    assert not exact_matches(written, longer).any()
    assert exact_matches(written, np.pad(written.tokens, ((0, 0), (0, 2)))[:, :3]).all() or (written.tokens != 0).all()


def test_bad_arguments_are_named(net):
    with pytest.raises(ValueError, match="give one of them"):
        translate_sequences(net, SOURCES, max_length=2, width=2, temperature=1.0)
    with pytest.raises(ValueError, match="no key"):
        translate_sequences(net, SOURCES, max_length=2, temperature=1.0)
    with pytest.raises(ValueError, match="2 or more"):
        EncoderDecoder(1, 3, 4, key=jax.random.key(0))
    with pytest.raises(ValueError, match="no cell"):
        EncoderDecoder(3, 3, 4, cell="gpu", key=jax.random.key(0))
    plain = EncoderDecoder(3, 3, 4, key=jax.random.key(0))
    memory = plain.encode(jnp.array([1]))
    with pytest.raises(ValueError, match="no attention"):
        plain.attention_weights(memory, jnp.zeros(4))


def test_a_rollout_is_fed_its_likeliest_symbol(net):
    rolled = roll_out(net, jnp.array([1, 2, 3]), jnp.array([1, 1, 1]), jnp.ones(3, bool))
    assert rolled.fed[1:].tolist() == rolled.log_probabilities.argmax(1)[:-1].tolist()
