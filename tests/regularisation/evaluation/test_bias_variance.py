"""Bias and variance against closed forms and direct counts."""

import jax
import numpy as np
import pytest

from leadline.data import generator
from leadline.learning.loss_minimisers import best_constant
from leadline.regularisation import bias_variance, squared_terms, zero_one_terms
from leadline.regularisation.evaluation.bias_variance import aggregate, linear_terms, refits

KEY = jax.random.key(4)
RNG = np.random.default_rng(4)


def sample(key, n=10, sd=0.5):
    rng = generator(key)
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, 2.0 + sd * rng.normal(size=n)


def test_a_shrunken_mean_has_the_bias_and_variance_of_its_formula():
    found = bias_variance(
        lambda x, y, new: np.full(len(new), 0.8 * y.mean()),
        sample,
        np.zeros((3, 1)),
        np.full(3, 2.0),
        noise=0.25,
        datasets=3000,
        key=KEY,
    )
    np.testing.assert_allclose(found.bias_squared, 0.16, atol=0.01)
    np.testing.assert_allclose(found.variance, 0.64 * 0.25 / 10, rtol=0.1)
    np.testing.assert_allclose(found.excess.mean(axis=0), found.bias_squared + found.variance, rtol=1e-12)
    assert found.risk == pytest.approx(0.16 + 0.016 + 0.25, abs=0.01)


def test_what_draw_gives_besides_is_passed_on():
    def draw(key):
        return *sample(key), key

    said = refits(lambda x, y, k, new: np.full(len(new), float(jax.random.uniform(k))), draw, np.zeros((2, 1)), key=KEY)
    assert said.shape == (200, 2)
    assert len(np.unique(said[:, 0])) > 190


def test_domingos_terms_add_up_to_the_error_counted_over_both_labels():
    said, best, noise = RNG.integers(0, 2, size=(7, 40)), RNG.integers(0, 2, size=40), RNG.uniform(0, 0.5, size=40)
    found = zero_one_terms(said, best, noise)
    counted = ((said == best) * noise + (said != best) * (1 - noise)).mean(axis=0)
    np.testing.assert_allclose(found.error, counted, atol=1e-14)
    np.testing.assert_array_equal(found.main, (said.sum(axis=0) > 3.5) * 1)


def test_ties_go_to_the_larger_label_and_keep_the_identity():
    found = zero_one_terms(np.array([[-1, -1], [1, 1]]), np.array([1, -1]), 0.2)
    assert found.main.tolist() == [1, 1]
    assert found.error.tolist() == [0.5, 0.5]


def test_a_linear_learner_needs_no_datasets():
    smoother, f, g = RNG.normal(size=(3, 5)), RNG.normal(size=5), RNG.normal(size=3)
    exact = linear_terms(smoother, f, g, 0.4)
    said = (f + np.sqrt(0.4) * RNG.normal(size=(20_000, 5))) @ smoother.T
    drawn = squared_terms(said, g)
    np.testing.assert_allclose(exact.variance, drawn.variance, rtol=0.05)
    np.testing.assert_allclose(exact.bias_squared, drawn.bias_squared, atol=0.1 * (1 + exact.bias_squared.max()))
    with pytest.raises(ValueError, match="noise = -1"):
        linear_terms(smoother, f, g, -1)


def test_mean_median_and_mode_are_the_best_constants():
    said = RNG.normal(size=(9, 4))
    for loss in ("squared", "absolute"):
        np.testing.assert_allclose(aggregate(said, loss), [best_constant(column, loss) for column in said.T])
    words = np.array([["b", "a"], ["b", "c"], ["a", "c"]])
    assert aggregate(words, "zero-one").tolist() == ["b", "c"]
    with pytest.raises(ValueError, match="choose 'squared'"):
        aggregate(said, "hinge")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: squared_terms(np.ones((3, 2)), np.ones(3)), "one a column"),
        (lambda: zero_one_terms(np.array([[0, 1, 2]]), np.array([0, 1, 2]), 0.0), "3 classes"),
        (lambda: refits(lambda x, y, new: y, sample, np.zeros((3, 1)), key=KEY), "one a row"),
        (lambda: refits(lambda x, y, new: y, sample, np.zeros((3, 1)), datasets=1, key=KEY), "at least 2"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
