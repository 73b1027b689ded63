"""Metrics against scikit-learn and cases computed by hand."""

import jax
import numpy as np
import pytest

from leadline import learning as lm


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    logits = rng.normal(size=(300, 4)) + 1.5 * np.eye(4)[labels]
    p = np.exp(logits)
    return labels, p / p.sum(axis=1, keepdims=True)


def test_they_agree_with_scikit_learn(sample):
    from sklearn import metrics as reference

    labels, p = sample
    predicted = p.argmax(axis=1)
    assert (lm.confusion_matrix(labels, predicted) == reference.confusion_matrix(labels, predicted)).all()
    assert lm.log_loss(labels, p) == pytest.approx(reference.log_loss(labels, p), rel=1e-12)
    k2 = reference.top_k_accuracy_score(labels, p, k=2)
    assert lm.top_k_error(labels, p, 2) == pytest.approx(1 - k2, abs=1e-12)
    present, score = labels == 0, np.round(p[:, 0], 1)  # rounded: ties
    assert lm.area_under_curve(present, score) == pytest.approx(reference.roc_auc_score(present, score), rel=1e-12)
    assert lm.brier_score((labels == 0).astype(int), np.column_stack([1 - score, score])) == pytest.approx(
        2 * reference.brier_score_loss(present, score), rel=1e-12
    )
    mine = lm.precision_recall(present, score > 0.4)
    theirs = reference.precision_recall_fscore_support(present, score > 0.4, average="binary")
    np.testing.assert_allclose(mine, theirs[:3], rtol=1e-12)
    y, guess = np.linspace(0, 1, 300), p[:, 0]
    assert lm.root_mean_square_error(y, guess) == pytest.approx(reference.root_mean_squared_error(y, guess))
    assert lm.mean_absolute_error(y, guess) == pytest.approx(reference.mean_absolute_error(y, guess))
    assert lm.mean_pinball_loss(y, guess, 0.9) == pytest.approx(reference.mean_pinball_loss(y, guess, alpha=0.9))


def test_the_area_is_the_share_of_pairs_with_ties_halved():
    rng = np.random.default_rng(1)
    present, score = rng.integers(0, 2, 60), rng.integers(0, 5, 60).astype(float)
    pairs = score[present == 1][:, None] - score[present == 0]
    assert lm.area_under_curve(present, score) == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2)


def test_the_top_class_alone_gives_the_error_rate_and_unit_costs_too(sample):
    labels, p = sample
    error = lm.error_rate(labels, p.argmax(axis=1))
    assert lm.top_k_error(labels, p, 1) == error
    assert lm.cost_sensitive_error(labels, p.argmax(axis=1), 1 - np.eye(4)) == error
    assert lm.top_k_error(labels, p, 4) == 0


def test_bins_of_confidence_by_hand():
    confidence, correct = np.array([0.0, 0.2, 0.5, 0.50001, 1.0]), np.array([0, 1, 1, 0, 1])
    table = lm.reliability(confidence, correct, bins=2)
    assert table.count.tolist() == [3, 2]  # a bin holds its upper end
    np.testing.assert_allclose(table.accuracy, [2 / 3, 1 / 2])
    expected = (abs(2 / 3 - 0.7 / 3) * 3 + abs(0.5 - 1.50001 / 2) * 2) / 5
    assert lm.calibration_error(confidence, correct, bins=2) == pytest.approx(expected)


def test_the_share_of_bootstrap_intervals_that_cover_is_near_their_level():
    rng = np.random.default_rng(2)
    covered = 0
    for seed in range(60):
        wrong = (rng.random(150) < 0.3).astype(int)
        found = lm.bootstrap_interval(lm.error_rate, wrong, np.zeros(150, int), key=jax.random.key(seed), resamples=200)
        covered += found.low <= 0.3 <= found.high
    assert covered >= 49  # the 0.1% point of 60 intervals of level 0.95, with a little for the bootstrap's bias


def test_edge_cases_and_bad_input():
    assert lm.precision_recall(np.zeros(3), np.zeros(3)) == (0.0, 0.0, 0.0)
    assert lm.log_loss(np.array([0]), np.array([[0.0, 1.0]])) == np.inf
    for call, word in [
        (lambda: lm.error_rate(np.array([1, 2]), np.array([1])), "shapes"),
        (lambda: lm.area_under_curve(np.ones(3), np.arange(3.0)), "one kind"),
        (lambda: lm.top_k_error(np.array([0]), np.ones((1, 2)), 3), "k = 3"),
        (lambda: lm.reliability(np.array([1.5]), np.array([1])), "confidences"),
        (lambda: lm.confusion_matrix(np.array([5]), np.array([0]), 2), "outside"),
        (lambda: lm.bootstrap_interval(lm.error_rate, np.array([1]), key=jax.random.key(0)), "rows"),
    ]:
        with pytest.raises(ValueError, match=word):
            call()
