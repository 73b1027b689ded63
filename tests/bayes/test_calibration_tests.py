"""Calibration: scores against `learning.metrics` and SciPy, the law under calibration, temperature."""

import jax
import numpy as np
import pytest
from scipy.stats import binomtest

from leadline import bayes, learning
from leadline.bayes.temperature_scaling import scaled_log_losses

rng = np.random.default_rng(2)
P = rng.dirichlet(np.ones(3), size=300)
Y = (rng.random(300)[:, None] > P.cumsum(1)).sum(1)


def test_scores_are_those_of_the_metrics():
    found = bayes.calibration_scores(P, Y)
    correct = (P.argmax(1) == Y).astype(float)
    assert np.isclose(found.accuracy, correct.mean())
    assert np.isclose(found.calibration_error, learning.calibration_error(P.max(1), correct))
    assert np.isclose(found.log_loss, learning.log_loss(Y, P))
    assert np.isclose(found.brier, learning.brier_score(Y, P))


def test_a_calibrated_network_is_inside_its_own_law_and_an_overconfident_one_is_not():
    null = bayes.calibrated_scores(P, draws=999, key=jax.random.key(0))
    here = bayes.calibration_scores(P, Y)
    assert null.calibration_error.min() <= here.calibration_error <= null.calibration_error.max()
    assert np.isclose(null.accuracy.mean(), P.max(1).mean(), atol=4 * null.accuracy.std() / 999**0.5)
    entropy = -np.sum(P * np.log(P), axis=1).mean()
    assert np.isclose(null.log_loss.mean(), entropy, atol=4 * null.log_loss.std() / 999**0.5)
    sharp = P**4 / np.sum(P**4, axis=1, keepdims=True)
    over = bayes.calibrated_scores(sharp, draws=99, key=jax.random.key(1))
    assert bayes.calibration_scores(sharp, Y).calibration_error > over.calibration_error.max()


def test_ranks_among_calibrated_draws_are_uniform_over_many_data_sets():
    from scipy.stats import kstest

    ranks = []
    for seed in range(120):
        own = np.random.default_rng(seed)
        p = own.dirichlet(np.ones(3), size=100)
        y = (own.random(100)[:, None] > p.cumsum(1)).sum(1)
        null, here = bayes.calibrated_scores(p, draws=99, key=jax.random.key(seed)), bayes.calibration_scores(p, y)
        ranks.append(
            [np.mean(null.log_loss >= here.log_loss), np.mean(null.calibration_error >= here.calibration_error)]
        )
    for column in np.array(ranks).T:
        assert kstest(column, "uniform").pvalue > 1e-3


def test_intervals_of_the_bins_are_exact():
    table = bayes.reliability_table(P.max(1), (P.argmax(1) == Y).astype(float), bins=5)
    for k, n, low, high in zip(table.correct, table.count, table.low, table.high, strict=True):
        exact = binomtest(int(k), int(n)).proportion_ci(0.95, method="exact")
        assert np.allclose([low, high], exact)


def test_temperature_is_found_and_its_interval_is_that_of_the_likelihood():
    found = bayes.fit_temperature(3 * np.log(P), Y)
    assert found.low < 3.0 < found.high
    assert found.bounded
    losses = [scaled_log_losses(3 * np.log(P), Y, t).sum() for t in (found.value, found.low, found.high)]
    assert np.allclose(np.subtract(losses[1:], losses[0]), 3.841459 / 2, atol=1e-3)
    assert not bayes.fit_temperature(np.log(P), P.argmax(1)).bounded  # every row right: the sharper the better


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="sum to 1"):
        bayes.calibrated_scores(2 * P, key=jax.random.key(0))
    with pytest.raises(ValueError, match="rows"):
        bayes.fit_temperature(P[:1], Y[:1])


def test_scores_of_several_sets_of_labels_are_those_of_each_set():
    rng = np.random.default_rng(5)
    p, draws = rng.dirichlet(np.ones(3), 40), rng.integers(3, size=(4, 40))
    together = bayes.calibration_scores(p, draws, bins=7)
    for i, y in enumerate(draws):
        right = (p.argmax(1) == y).astype(float)
        gaps = [abs((right - p.max(1))[np.ceil(p.max(1) * 7) == b].sum()) for b in range(1, 8)]
        one_hot = np.eye(3)[y]
        expected = [right.mean(), sum(gaps) / 40, -np.log((p * one_hot).sum(1)).mean(), ((p - one_hot) ** 2).sum() / 40]
        np.testing.assert_allclose([score[i] for score in together], expected, rtol=1e-12)
