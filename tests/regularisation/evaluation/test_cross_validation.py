"""Cross-validation against scikit-learn, and what it refuses."""

import jax
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_score

from leadline.learning import least_squares
from leadline.regularisation import cross_validate
from leadline.regularisation.evaluation.cross_validation import k_folds

RNG = np.random.default_rng(5)
KEY = jax.random.key(2)
X = RNG.normal(size=(31, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + RNG.normal(size=31)


def line(x, y, new):
    return least_squares(x, y).predict(new)


def test_leaving_one_out_equals_scikit_learn():
    found = cross_validate(line, X, Y, len(Y), key=KEY)
    other = -cross_val_score(LinearRegression(), X, Y, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    assert found.mean == pytest.approx(other.mean())
    assert (found.train_size, found.test_size) == (30, 1)


@pytest.mark.parametrize("options", [{}, {"stratified": True}, {"groups": np.arange(31) // 2}])
def test_every_row_is_scored_once_and_never_fitted_in_its_fold(options):
    y = np.arange(31) % 3
    folds = list(k_folds(y, 4, 2, key=KEY, **options))
    assert len(folds) == 8
    for half in (folds[:4], folds[4:]):
        assert sorted(np.concatenate([test for _, test in half]).tolist()) == list(range(31))
    for train, test in folds:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == 31
        if "groups" in options:
            assert not set(options["groups"][train]) & set(options["groups"][test])
        if "stratified" in options:
            assert np.ptp(np.bincount(y[test])) <= 1


def test_errors_are_as_nadeau_and_bengio_say():
    found = cross_validate(line, X, Y, 5, repeats=3, key=KEY)
    sd = np.std(found.scores, ddof=1)
    assert found.scores.shape == (3, 5)
    assert found.naive_error == pytest.approx(sd / np.sqrt(15))
    assert found.corrected_error == pytest.approx(sd * np.sqrt(1 / 15 + 6.2 / 24.8))
    assert found.spread == pytest.approx(found.scores.mean(axis=1).std(ddof=1))
    low, high = found.interval()
    assert high - low == pytest.approx(2 * 2.1448 * found.corrected_error, rel=1e-4)
    assert np.diff(found.interval(corrected=False)) < high - low


def test_labels_are_scored_by_zero_one_loss():
    y = np.array(["no", "yes"])[(Y > 0) * 1]
    found = cross_validate(
        lambda a, b, new: np.full(len(new), "yes"), X, y, 3, loss="zero-one", stratified=True, key=KEY
    )
    assert found.mean == pytest.approx(np.mean(y == "no"), abs=0.05)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (Y, {"k": 1}, "k = 1 for 31 rows"),
        (Y, {"k": 32}, "k = 32 for 31 rows"),
        (np.zeros(31), {"stratified": True}, "one class, 0.0"),
        (np.arange(31) % 10, {"stratified": True}, "31 rows, 3 of class 1, for k = 5 and 10 classes"),
        (Y, {"groups": np.arange(31) % 3}, "3 groups for k = 5"),
        (Y, {"repeats": 0}, "repeats = 0"),
        (Y[:30], {}, "same number of rows"),
    ],
)
def test_bad_input_is_named(y, options, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(line, X, y, **{"key": KEY, **options})


def test_predictions_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="finite prediction"):
        cross_validate(lambda a, b, new: np.full(len(new), np.nan), X, Y, key=KEY)
    with pytest.raises(ValueError, match="at least 2 of them"):
        _ = cross_validate(line, X, Y, key=KEY).spread
