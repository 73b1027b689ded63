"""Resamples, the bootstrap and bagging against definitions, SciPy and scikit-learn."""

import jax
import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from leadline import data, regularisation
from leadline.regularisation.committees.resamples import left_out_mean

KEY = jax.random.key(4)


def test_the_share_of_distinct_rows_is_that_of_all_resamples_of_three():
    every = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3)
    share = np.mean([len(set(rows)) / 3 for rows in every.tolist()])
    assert regularisation.distinct_share(3) == pytest.approx(share, rel=1e-12)
    assert regularisation.distinct_share(1) == 1.0


def test_the_bootstrap_is_that_of_scipy():
    x = np.random.default_rng(1).exponential(size=30)
    found = regularisation.bootstrap(np.mean, x, resamples=400, level=0.9, key=KEY)
    options = {"n_resamples": 400, "confidence_level": 0.9}
    for method, ours in (("percentile", found.percentile), ("BCa", found.bca)):
        theirs = stats.bootstrap((x,), np.mean, method=method, rng=data.generator(KEY), **options)
        np.testing.assert_allclose(ours, theirs.confidence_interval, rtol=1e-12)
        assert found.deviation == pytest.approx(theirs.standard_error, rel=1e-12)


def test_columns_are_resampled_together():
    x = np.arange(20.0)
    found = regularisation.bootstrap(lambda a, b: np.corrcoef(a, b)[0, 1], x, -x, resamples=50, key=KEY)
    np.testing.assert_allclose(found.values, -1.0, rtol=1e-12)


def test_out_of_bag_predictions_are_those_of_scikit_learn():
    x, y = data.digits()
    forest = RandomForestClassifier(15, oob_score=True, random_state=0).fit(x[:300], y[:300])
    committee = regularisation.committee_of(forest)
    np.testing.assert_allclose(committee(x[300:350]), forest.predict_proba(x[300:350]), atol=1e-12)
    seen = committee.out_of_bag(x[:300])
    known = np.isfinite(seen).all(axis=1)
    np.testing.assert_allclose(seen[known], forest.oob_decision_function_[known], atol=1e-12)


def test_a_bag_with_the_rows_of_scikit_learn_is_its_bag():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    theirs = BaggingRegressor(DecisionTreeRegressor(random_state=0), 6, random_state=0).fit(x, y)

    def fit(x, y, rng):
        return DecisionTreeRegressor(random_state=0).fit(x, y).predict

    ours = regularisation.bag(fit, x, y, rows=np.stack(theirs.estimators_samples_), key=KEY)
    # scikit-learn weighs rows by how often they are drawn, which splits ties by rounding another way
    np.testing.assert_allclose(ours(x), theirs.predict(x), atol=0.35)
    assert np.corrcoef(ours(x), theirs.predict(x))[0, 1] > 0.98


def test_rows_that_all_members_saw_have_no_out_of_bag_prediction():
    said = left_out_mean(np.ones((2, 3)), np.array([[0, 1], [0, 2]]))
    np.testing.assert_array_equal(np.isnan(said), [True, False, False])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="at least 2 rows"):
        regularisation.bootstrap(np.mean, np.ones(1), key=KEY)
    with pytest.raises(ValueError, match="no finite number on"):
        regularisation.bootstrap(lambda x: 1 / x.std() if x.std() else np.inf, np.arange(2.0), key=KEY)
    with pytest.raises(ValueError, match="no columns"):
        regularisation.bootstrap(np.mean, key=KEY)
    with pytest.raises(ValueError, match="same number of rows"):
        regularisation.bag(lambda x, y, rng: None, np.ones((3, 1)), np.ones(2), key=KEY)
    with pytest.raises(ValueError, match="give a fitted forest or bag"):
        regularisation.committee_of(DecisionTreeRegressor())
    with pytest.raises(ValueError, match="each below the number of predictions"):
        left_out_mean(np.ones((1, 2)), np.array([[5]]))


def test_a_statistic_that_no_resample_changes_has_intervals_of_one_point():
    found = regularisation.bootstrap(np.mean, np.full(10, 3.0), resamples=50, key=KEY)
    assert (found.deviation, found.percentile, found.bca) == (0.0, (3.0, 3.0), (3.0, 3.0))
