import numpy as np
import pytest
from sklearn.decomposition import PCA

from leadline import data
from leadline.landscape.deep_linear import whiten

X = np.random.default_rng(1).normal(size=(4, 4)) @ np.random.default_rng(2).normal(size=(4, 30)) + 5


def test_it_is_the_whitening_of_scikit_learn_up_to_signs():
    ours = whiten(X, per_sample=True)(X)
    theirs = PCA(whiten=True).fit_transform(X.T).T * np.sqrt(30 / 29)  # PCA divides by n - 1
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-10)


def test_the_condition_number_is_that_of_the_centred_second_moment():
    centred = X - X.mean(1, keepdims=True)
    assert whiten(X).condition == pytest.approx(np.linalg.cond(centred @ centred.T))


def test_constant_pixels_of_digits_are_dropped():
    images = data.digits().images.T
    found = whiten(images)
    assert found.rank == 61
    z = found(images)
    np.testing.assert_allclose(z @ z.T, np.eye(61), atol=1e-10)


def test_few_samples_span_one_dimension_less():
    assert whiten(X[:, :3]).rank == 2


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="equal samples"):
        whiten(np.ones((3, 5)))
    with pytest.raises(ValueError, match="not finite"):
        whiten(np.array([[np.nan, 1.0]]))
    with pytest.raises(ValueError, match="tolerance"):
        whiten(X, tolerance=1.0)
    with pytest.raises(ValueError, match="samples in columns"):
        whiten(X)(X.T)
