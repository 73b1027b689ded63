"""Linear scores against scikit-learn and the conditions of a minimum."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from leadline.learning import fit_linear_scores, fit_logistic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
LABELS = (X @ RNG.normal(size=(3, 4)) + RNG.gumbel(size=(300, 4))).argmax(axis=1)


def test_softmax_regression_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    mine = fit_linear_scores(X, LABELS, ridge=0.05)
    theirs = LogisticRegression(C=1 / (0.05 * 300), tol=1e-12, max_iter=10_000).fit(X, LABELS)
    np.testing.assert_allclose(softmax(mine.logits(X), axis=1), theirs.predict_proba(X), atol=1e-6)
    assert mine.gradient < 1e-8


def test_sigmoids_are_separate_logistic_regressions():
    t = (X @ RNG.normal(size=(3, 2)) + RNG.logistic(size=(300, 2)) > 0).astype(int)
    mine = fit_linear_scores(X, t, link="sigmoid")
    for k in range(2):
        alone = fit_logistic(X, t[:, k])
        np.testing.assert_allclose(mine.weights[:, k], alone.weights, atol=1e-6)


def test_rows_of_targets_need_not_sum_to_one():
    t = (RNG.random((300, 4)) < 0.4).astype(float)
    mine = fit_linear_scores(X, t)
    p = softmax(mine.logits(X), axis=1)
    np.testing.assert_allclose(X.T @ (t.sum(1, keepdims=True) * p - t) / 300, 0, atol=1e-8)
    assert mine.loss == pytest.approx(-(t * np.log(p)).sum(1).mean(), rel=1e-12)
    both = fit_linear_scores(X, t, link="sigmoid", ridge=0.1)
    gradient = X.T @ (expit(both.logits(X)) - t) / 300 + 0.1 * both.weights
    np.testing.assert_allclose(gradient, 0, atol=1e-8)


def test_bad_input_is_refused():
    for call, word in [
        (lambda: fit_linear_scores(X, LABELS[:5]), "one for each"),
        (lambda: fit_linear_scores(X, LABELS - 1), "whole numbers"),
    ]:
        with pytest.raises(ValueError, match=word):
            call()
