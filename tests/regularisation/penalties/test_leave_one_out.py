"""Leave-one-out errors against refits and against scikit-learn."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from leadline.learning import ridge
from leadline.regularisation import ridge_leave_one_out

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(12, 3), (8, 20), (9, 8)])
def test_it_equals_a_refit_without_the_row(shape, intercept):
    x, y = RNG.normal(size=shape) + 1.0, RNG.normal(size=shape[0])
    alphas = np.array([1e-3, 1.0, 1e4])
    found = ridge_leave_one_out(x, y, alphas, intercept=intercept)
    for k, alpha in enumerate(alphas):
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            fit = ridge(x[rest], y[rest], alpha / len(rest), intercept=intercept)
            np.testing.assert_allclose(found.residuals[k, i], y[i] - fit.predict(x[i : i + 1])[0], rtol=1e-8, atol=1e-9)


def test_it_equals_scikit_learn_and_jax_equals_numpy():
    x, y = RNG.normal(size=(40, 6)), RNG.normal(size=40)
    alphas = np.geomspace(1e-3, 1e3, 20)
    found = ridge_leave_one_out(x, y, alphas)
    other = RidgeCV(alphas, store_cv_results=True).fit(x, y)
    np.testing.assert_allclose(found.residuals.T**2, other.cv_results_, rtol=1e-8, atol=1e-12)
    assert found.best == other.alpha_
    traced = ridge_leave_one_out(jnp.asarray(x), jnp.asarray(y), jnp.asarray(alphas))
    np.testing.assert_allclose(traced.residuals, found.residuals, rtol=1e-3, atol=1e-4)


def test_bad_penalties_are_named():
    x, y = RNG.normal(size=(4, 9)), RNG.normal(size=4)
    with pytest.raises(ValueError, match="decides its own prediction"):
        ridge_leave_one_out(x, y, np.array([0.0]))
    with pytest.raises(ValueError, match="alpha = -1"):
        ridge_leave_one_out(x, y, np.array([-1.0]))
    with pytest.raises(ValueError, match="one row"):
        ridge_leave_one_out(x[:1], y[:1], np.array([1.0]))
