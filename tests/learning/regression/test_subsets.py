"""Subset selection against brute force and scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from leadline import learning

RNG = np.random.default_rng(4)
X = RNG.normal(size=(25, 5)) @ RNG.normal(size=(5, 5))
Y = X @ RNG.normal(size=5) + RNG.normal(size=25)


def residual(columns):
    if not len(columns):
        return np.sum((Y - Y.mean()) ** 2)
    fit = LinearRegression().fit(X[:, columns], Y)
    return np.sum((Y - fit.predict(X[:, columns])) ** 2)


def test_trying_all_subsets_finds_the_least_residual_of_every_size():
    path = learning.best_subsets(X, Y)
    for size in range(6):
        least = min(residual(list(c)) for c in combinations(range(5), size))
        assert path.residual[size] == pytest.approx(least, rel=1e-9)
        assert residual(np.flatnonzero(path.chosen[size])) == pytest.approx(least, rel=1e-9)


def test_each_forward_step_is_the_best_single_addition():
    path = learning.forward_selection(X, Y)
    for size in range(5):
        now = np.flatnonzero(path.chosen[size]).tolist()
        best = min(residual([*now, j]) for j in range(5) if j not in now)
        assert path.residual[size + 1] == pytest.approx(best, rel=1e-9)


def test_each_backward_step_is_the_best_single_removal():
    path = learning.backward_selection(X, Y)
    for size in range(5, 0, -1):
        now = np.flatnonzero(path.chosen[size]).tolist()
        best = min(residual([k for k in now if k != j]) for j in now)
        assert path.residual[size - 1] == pytest.approx(best, rel=1e-9)


def test_copies_of_a_column_do_no_harm():
    path = learning.best_subsets(np.column_stack([X, X[:, 0]]), Y)
    assert path.residual[-1] == pytest.approx(residual(list(range(5))), rel=1e-9)


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ValueError, match="more examples"):
        learning.backward_selection(X[:4], Y[:4])
    with pytest.raises(ValueError, match="at most 15"):
        learning.best_subsets(RNG.normal(size=(30, 16)), RNG.normal(size=30))
