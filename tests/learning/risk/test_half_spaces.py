"""The best half-space against all lines through pairs of points."""

import numpy as np
import pytest

from leadline.learning.risk.half_spaces import best_half_space


def by_pairs(x, y):
    """Every dichotomy of points in the plane arises from a line through two of them, turned a little either way."""
    best = min((y > 0).sum(), (y < 0).sum())
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                along = x[j] - x[i]
                for tilt in (-1e-6, 1e-6):
                    for shift in (-1e-7, 1e-7):
                        normal = np.array([-along[1], along[0]]) / np.linalg.norm(along) + tilt * along
                        score = (x - (x[i] + x[j]) / 2) @ normal + shift
                        best = min(best, (y * score <= 0).sum(), (-y * score <= 0).sum())
    return best


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_the_search_over_pairs_finds(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(11, 2)), rng.choice([-1.0, 1.0], 11)
    found = best_half_space(x, y)
    assert found.errors == by_pairs(x, y)
    assert (y * (x @ found.weights + found.bias) <= 0).sum() == found.errors


def test_without_a_bias_it_stays_homogeneous_and_bad_labels_are_refused():
    x = np.array([[1.0, 0.0], [-1.0, 0.1], [0.5, 0.5]])
    found = best_half_space(x, np.array([1, 1, 1]), bias=False)
    assert (found.errors, found.bias) == (0, 0.0)
    assert (x @ found.weights > 0).all()
    with pytest.raises(ValueError, match="label"):
        best_half_space(x, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="zero"):
        best_half_space(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1, -1]), bias=False)
