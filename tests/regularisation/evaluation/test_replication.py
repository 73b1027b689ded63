"""Kendall's τ and the drop of scores against SciPy and direct means."""

import jax
import numpy as np
import pytest
from scipy.stats import kendalltau

from leadline.regularisation import replicate

RNG = np.random.default_rng(13)
KEY = jax.random.key(0)


def test_estimates_are_those_of_the_scores_and_lie_in_their_intervals():
    skill = np.linspace(0.2, 0.9, 12)[:, None]
    old, new = RNG.random((12, 300)) < skill, RNG.random((12, 200)) < skill - 0.1
    found = replicate(old, new, resamples=100, key=KEY)
    assert found.tau.estimate == pytest.approx(kendalltau(old.mean(axis=1), new.mean(axis=1)).statistic)
    assert found.drop.estimate == pytest.approx(old.mean() - new.mean())
    assert found.drop.low < found.drop.estimate < found.drop.high
    assert 0.5 < found.tau.low < found.tau.high <= 1
    half = (found.drop.high - found.drop.low) / 2
    spread = np.hypot(old.mean(axis=0).std() / np.sqrt(300), new.mean(axis=0).std() / np.sqrt(200))
    assert half == pytest.approx(1.96 * spread, rel=0.3)


def test_too_few_models_are_refused():
    with pytest.raises(ValueError, match="at least 3 models"):
        replicate(np.ones((2, 5), bool), np.ones((2, 5), bool), key=KEY)
    with pytest.raises(ValueError, match="resamples = 3"):
        replicate(np.ones((4, 5), bool), np.ones((4, 5), bool), resamples=3, key=KEY)


def test_models_that_score_alike_have_no_ranking():
    right = np.eye(4, 8, dtype=bool)
    with pytest.raises(ValueError, match=r"all have the accuracy 0.125 on the old set"):
        replicate(right, right, resamples=20, key=KEY)
