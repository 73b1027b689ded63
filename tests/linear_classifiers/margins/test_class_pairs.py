import numpy as np
import pytest
from sklearn.svm import LinearSVC

from leadline import data
from leadline.linear_classifiers.margins.class_pairs import class_pair, pair_difficulty


def test_the_hardest_and_easiest_digit_pairs_are_the_reference_ones():
    images, labels = data.digits()
    keep = np.isin(labels, (1, 6, 7, 8))
    found = pair_difficulty(images[keep], labels[keep])
    difficulty = dict(zip(map(tuple, found.pairs.tolist()), found.difficulty.tolist(), strict=True))
    margin = dict(zip(map(tuple, found.pairs.tolist()), found.margin.tolist(), strict=True))
    assert round(margin[1, 8], 3) == 0.111
    assert round(difficulty[1, 8]) == 1972
    assert round(margin[6, 7], 3) == 0.717
    assert int(difficulty[6, 7]) == 41
    assert found.separable.all()


def test_margins_agree_with_liblinear_on_the_pair():
    images, labels = data.digits()
    x, y = class_pair(images, labels, 0, 1)
    reference = LinearSVC(C=1e4, loss="hinge", fit_intercept=False, tol=1e-6, max_iter=100_000).fit(x, y)
    found = pair_difficulty(images[labels < 2], labels[labels < 2])
    np.testing.assert_allclose(found.margin, 1 / np.linalg.norm(reference.coef_), rtol=1e-4)


def test_inseparable_pairs_are_reported_and_do_not_stop_the_others():
    x, labels = np.array([[0.0], [2.0], [1.0], [9.0]]), np.array([0, 0, 1, 2])
    found = pair_difficulty(x, labels)
    assert found.separable.tolist() == [False, True, True]
    assert found.difficulty[0] == np.inf
    assert found.margin[0] == 0


def test_a_single_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        pair_difficulty(np.ones((3, 2)), np.zeros(3, int))
