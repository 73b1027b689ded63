from itertools import combinations

import jax
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from leadline import networks


def blobs(classes=4, n=200):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    return rng.normal(size=(classes, 3))[y] * 2 + rng.normal(size=(n, 3)), y


def test_the_number_of_classifiers():
    assert networks.one_vs_rest(10).shape == (10, 10)
    assert networks.one_vs_one(10).shape == (10, 45)
    assert networks.random_code(10, 4, key=jax.random.key(0)).shape == (10, 4)


def test_one_vs_rest_by_scores_is_scikit_learns():
    x, y = blobs()
    ours = networks.fit_output_code(networks.one_vs_rest(4), x, y)
    theirs = OneVsRestClassifier(LogisticRegression(max_iter=200)).fit(x, y)
    np.testing.assert_array_equal(ours.scores(x).argmax(1), theirs.predict(x))


def test_one_vs_one_votes_are_scikit_learns_where_no_tie_needs_breaking():
    x, y = blobs()
    found = networks.fit_output_code(networks.one_vs_one(4), x, y).predict(x)
    theirs = OneVsOneClassifier(LogisticRegression(max_iter=200)).fit(x, y).predict(x)
    clear = ~found.ambiguous
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found.classes[clear], theirs[clear])


def test_flipped_bits_within_half_the_distance_are_corrected():
    code = networks.random_code(6, 11, key=jax.random.key(1))
    distance = networks.minimum_distance(code)
    assert distance >= 3
    for flips in combinations(range(11), (distance - 1) // 2):
        word = code.copy()
        word[:, list(flips)] *= -1
        found = networks.decode(code, word)
        np.testing.assert_array_equal(found.classes, np.arange(6))
        assert not found.ambiguous.any()


def test_soft_decoding_weighs_sure_bits_more():
    code = np.array([[1, 1, 1], [-1, -1, 1]])
    scores = np.array([[0.1, -3.0, 1.0]])
    assert networks.decode(code, scores).ambiguous.tolist() == [True]
    assert networks.decode(code, scores, distance="soft").classes.tolist() == [1]


def test_long_codes_and_bad_input():
    assert networks.random_code(3, 70, tries=3, key=jax.random.key(0)).shape == (3, 70)
    with pytest.raises(ValueError, match="at least 4"):
        networks.random_code(10, 3, key=jax.random.key(0))
    with pytest.raises(ValueError, match="one a bit"):
        networks.decode(networks.one_vs_rest(3), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="at least 2"):
        networks.one_vs_rest(1)
    with pytest.raises(ValueError, match="rows for 0 to 2"):
        networks.fit_output_code(networks.one_vs_rest(3), np.zeros((4, 1)), np.array([0, 1, 2, 3]))
    with pytest.raises(ValueError, match="one sign only"):
        networks.fit_output_code(networks.one_vs_rest(3), np.zeros((4, 1)), np.array([0, 1, 1, 0]))
