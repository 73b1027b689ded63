"""Counts against dictionaries, and what they sum to."""

from collections import Counter

import jax
import numpy as np
import pytest

from leadline.sequences import fit_ngrams

TEXT = np.random.default_rng(0).choice(4, p=[0.5, 0.3, 0.15, 0.05], size=400)


def witten_bell(text, order, symbols, context, symbol):
    """The recursion as it is written, from counts of tuples."""
    counts = Counter(tuple(text[i : i + n]) for n in range(1, order + 1) for i in range(len(text) - n + 1))

    def chance(h):
        after = [counts[(*h, w)] for w in range(symbols)]
        below = chance(h[1:]) if h else 1 / symbols
        total, kinds = sum(after), sum(c > 0 for c in after)
        return (after[symbol] + kinds * below) / (total + kinds) if total else below

    return chance(tuple(context))


@pytest.mark.parametrize("context", [(), (0,), (3, 3), (1, 0, 2)])
def test_witten_bell_is_the_recursion_of_its_definition(context):
    model = fit_ngrams(TEXT, 4, symbols=5)
    found = model.distribution(list(context))
    expected = [witten_bell(TEXT.tolist(), 4, 5, context, w) for w in range(5)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("smoothing", ["witten-bell", "add-k"])
def test_probabilities_sum_to_one_after_every_context(smoothing):
    model = fit_ngrams(TEXT, 3, symbols=5, smoothing=smoothing, k=0.3)
    for context in ([], [4], [4, 4], [0, 1], [2, 3, 0, 1]):
        assert model.distribution(context).sum() == pytest.approx(1.0, abs=1e-12)


def test_log_probabilities_are_those_of_the_distributions_token_by_token():
    model, new = fit_ngrams(TEXT, 3, symbols=5), [1, 4, 0, 0, 2]
    found = model.log_probabilities(new, before=[3])
    expected = [np.log(model.distribution([3, *new[:i]])[w]) for i, w in enumerate(new)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_lower_order_from_the_same_counts_is_the_model_of_that_order():
    high, low = fit_ngrams(TEXT, 4, symbols=5).of_order(2), fit_ngrams(TEXT, 2, symbols=5)
    np.testing.assert_array_equal(high.log_probabilities(TEXT), low.log_probabilities(TEXT))


def test_without_smoothing_what_was_never_seen_is_impossible():
    model = fit_ngrams([0, 1, 0, 1, 2], 2, symbols=4, smoothing="none")
    assert model.log_probabilities([0, 2]).tolist()[1] == -np.inf
    with pytest.raises(ValueError, match="never seen"):
        model.distribution([3])


def test_the_step_of_a_decoder_is_the_distribution():
    model = fit_ngrams(TEXT, 3, symbols=5)
    logs, contexts = model.step(np.array([[-1, 2]]), np.array([1]))
    np.testing.assert_allclose(np.exp(logs[0]), model.distribution([2, 1]), rtol=1e-12)
    assert contexts.tolist() == [[2, 1]]


def test_draws_follow_the_key_and_a_low_temperature_is_the_likeliest():
    model = fit_ngrams(TEXT, 2, symbols=4)
    a, b = (model.sample(20, key=jax.random.key(0)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    cold = model.sample(5, temperature=0.01, key=jax.random.key(1))
    assert cold[0] == model.distribution().argmax()


@pytest.mark.parametrize(
    ("tokens", "order", "options", "says"),
    [
        ([0, 5], 1, {}, "none of 4 symbols"),
        ([0.5, 1.0], 1, {}, "whole numbers"),
        ([0], 2, {}, "at least as many"),
        ([0, 1], 0, {}, "1 or more"),
        ([0, 1], 1, {"smoothing": "add-k", "k": 0.0}, "k above 0"),
    ],
)
def test_bad_arguments_are_named(tokens, order, options, says):
    with pytest.raises(ValueError, match=says):
        fit_ngrams(np.array(tokens), order, symbols=4, **options)
