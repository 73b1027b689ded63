"""The diabetes data are scikit-learn's, standardised, with the published fit."""

import numpy as np
from sklearn.datasets import load_diabetes

from leadline import data, learning


def test_the_columns_are_scikit_learns_in_other_units():
    inputs, targets, names = data.diabetes()
    bundle = load_diabetes()
    np.testing.assert_allclose(inputs, bundle.data * np.sqrt(442), atol=1e-9)
    np.testing.assert_array_equal(targets, bundle.target)
    assert names == tuple(bundle.feature_names)
    np.testing.assert_allclose(inputs.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose((inputs**2).mean(axis=0), 1.0)


def test_least_squares_explains_the_known_share():
    inputs, targets, _ = data.diabetes()
    residual = targets - learning.least_squares(inputs, targets).predict(inputs)
    assert abs(1 - residual @ residual / np.sum((targets - targets.mean()) ** 2) - 0.51775) < 5e-6
