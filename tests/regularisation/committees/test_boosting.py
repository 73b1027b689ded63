"""AdaBoost against scikit-learn, brute force over stumps and the sum of its margins."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from leadline import regularisation


def best_stump(x, y, weights):
    """The stump with the least weighted error, by trying all of them."""
    best = None
    for j in range(x.shape[1]):
        for cut in np.unique(x[:, j]) - 0.5:
            for sign in (1, -1):
                error = weights[sign * np.where(x[:, j] > cut, 1, -1) != y].sum()
                if best is None or error < best[0]:
                    best = error, j, cut, sign
    _, j, cut, sign = best
    return lambda new: sign * np.where(new[:, j] > cut, 1, -1)


def test_decisions_are_those_of_scikit_learn():
    table = load_breast_cancer()
    y = 2 * table.target - 1
    ours = regularisation.adaboost(regularisation.stump(), table.data, y, rounds=15)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=15, random_state=0)
    theirs.fit(table.data, y)
    np.testing.assert_allclose(2 * ours.weights, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_array_equal(np.sign(ours(table.data)), theirs.predict(table.data))


def test_any_learner_with_weights_will_do_and_the_product_is_the_loss():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, (40, 2)).astype(float)
    y = np.where(x.sum(axis=1) + rng.normal(size=40) > 5, 1, -1)
    found = regularisation.adaboost(best_stump, x, y, rounds=8)
    losses = np.exp(-y * found.scores(x)).mean(axis=1)
    np.testing.assert_allclose(found.loss_bounds, losses, rtol=1e-12)
    assert (found.loss_bounds <= found.edge_bounds * (1 + 1e-12)).all()


def test_a_perfect_learner_and_a_blind_one_end_it():
    x, y = np.array([[-1.0], [1.0]]), np.array([-1, 1])
    perfect = regularisation.adaboost(regularisation.stump(), x, y, rounds=5)
    assert perfect.reason == "no error"
    assert perfect(x).tolist() == [-np.inf, np.inf]
    blind = regularisation.adaboost(lambda x, y, w: lambda new: np.ones(len(new)), x, y)
    assert (blind.reason, blind.refused, blind(x).tolist()) == ("no better than chance", 0.5, [0.0, 0.0])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="give −1 and 1"):
        regularisation.adaboost(regularisation.stump(), np.ones((2, 1)), np.array([0, 1]))
    with pytest.raises(ValueError, match="it must say −1 or 1 for each"):
        regularisation.adaboost(lambda x, y, w: lambda new: new[:, 0], np.full((2, 1), 0.3), np.array([-1, 1]))
    with pytest.raises(ValueError, match="rounds = 0; give at least 1"):
        regularisation.adaboost(regularisation.stump(), np.ones((2, 1)), np.array([-1, 1]), rounds=0)
