"""Stacked separability programmes against one programme at a time."""

import inspect

import numpy as np
import pytest

from leadline.linear_classifiers import dichotomies, margins


def test_all_labelings_lists_every_sign_vector_once():
    rows = dichotomies.all_labelings(5)
    assert rows.shape == (32, 5)
    assert set(np.unique(rows)) == {-1.0, 1.0}
    assert len(np.unique(rows, axis=0)) == 32


@pytest.mark.parametrize("seed", [0, 1])
def test_the_stack_agrees_with_one_programme_per_labeling(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=(6, 3)), rng.integers(-1, 2, size=(2, 3))])
    x[6:] += np.abs(x[6:]).sum(axis=1, keepdims=True) == 0
    labelings = dichotomies.all_labelings(8)
    found = dichotomies.realise(x, labelings)
    single = [margins.separate(x, y, bias=False).separable for y in labelings]
    np.testing.assert_array_equal(found.possible, single)


def test_the_witnesses_realise_their_labelings():
    x = np.random.default_rng(2).normal(size=(9, 4))
    labelings = dichotomies.all_labelings(9)
    found = dichotomies.realise(x, labelings)
    np.testing.assert_array_equal(np.sign(found.weights @ x.T)[found.possible], labelings[found.possible])
    assert np.abs(found.weights).max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("x", "labelings", "message"),
    [
        (np.array([[np.nan, 1.0]]), np.ones((1, 1)), "NaN"),
        (np.ones((2, 2)), np.ones((1, 3)), "one sign per point"),
        (np.ones((2, 2)), np.zeros((1, 2)), "only -1 and"),
        (np.ones((0, 2)), np.zeros((1, 0)), "one point per row"),
    ],
)
def test_bad_input_is_named(x, labelings, message):
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(dichotomies.realise)(x, labelings)


def test_too_many_labelings_are_refused():
    with pytest.raises(ValueError, match="labelings"):
        dichotomies.all_labelings(40)
