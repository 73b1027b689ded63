"""The optimism of a chosen score against simulation and against known order statistics."""

import numpy as np
import pytest

from leadline.regularisation import selection_optimism
from leadline.regularisation.evaluation.selection_optimism import attack_accuracy, expected_maximum, orient_and_vote

RNG = np.random.default_rng(11)


@pytest.mark.parametrize(("count", "known"), [(2, 0.5641896), (3, 0.8462844), (5, 1.1629645), (100, 2.5075936)])
def test_the_mean_of_the_largest_normal_is_as_in_the_tables(count, known):
    assert expected_maximum(count) == pytest.approx(known, abs=2e-7)


def test_one_model_is_not_optimistic_and_more_are_as_simulated():
    assert selection_optimism(0.7, 50, 1).exact == pytest.approx(0, abs=1e-12)
    best = RNG.binomial(50, 0.7, size=(20_000, 8)).max(axis=1) / 50
    found = selection_optimism(0.7, 50, 8)
    assert found.exact == pytest.approx(best.mean() - 0.7, abs=4 * best.std() / np.sqrt(20_000))
    assert found.exact < found.ceiling


def test_the_attack_raises_only_the_score_it_was_made_on():
    scores, fresh = [], []
    for _ in range(60):
        labels, guesses = RNG.random((2, 200)) < 0.5, RNG.random((2, 101, 200)) < 0.5
        votes = orient_and_vote(guesses[0], labels[0], guesses[1])
        scores.append((votes[0] == labels[0]).mean())
        fresh.append((votes[1] == labels[1]).mean())
    found = attack_accuracy(101, 200)
    assert np.mean(scores) == pytest.approx(found.exact, abs=4 * np.std(scores) / np.sqrt(60))
    assert np.mean(fresh) == pytest.approx(0.5, abs=0.02)
    assert found.exact == pytest.approx(found.gaussian, abs=0.02)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="accuracy 1"):
        selection_optimism(1, 10, 10)
    with pytest.raises(ValueError, match="0 guessers"):
        attack_accuracy(0, 10)
    with pytest.raises(ValueError, match="0 variables"):
        expected_maximum(0)
