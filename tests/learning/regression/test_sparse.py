"""The lasso against scikit-learn, closed forms and its dual."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from leadline import data, learning
from leadline.learning.regression.sparse import lasso_certificate

INPUTS, TARGETS, NAMES = data.diabetes()


@pytest.fixture(scope="module")
def path():
    penalties = float(learning.lasso_ceiling(INPUTS, TARGETS)) * np.array([1.0, 0.5, 0.1, 0.01])
    return penalties, learning.lasso_path(INPUTS, TARGETS, penalties)


def test_the_path_is_scikit_learns(path):
    penalties, fits = path
    for k, penalty in enumerate(penalties[1:], start=1):
        reference = Lasso(alpha=penalty, tol=1e-12, max_iter=100_000).fit(INPUTS, TARGETS)
        np.testing.assert_allclose(fits.weights[k], reference.coef_, atol=1e-6)
        np.testing.assert_allclose(fits.bias[k], reference.intercept_, atol=1e-6)
        assert np.array_equal(np.asarray(fits.weights[k]) != 0, reference.coef_ != 0)


def test_it_starts_at_the_ceiling_with_the_body_mass(path):
    penalties, fits = path
    assert penalties[0] == pytest.approx(45.16, abs=0.005)
    assert not np.any(np.asarray(fits.weights[0]))
    assert {NAMES[j] for j in np.flatnonzero(np.asarray(fits.weights[1]))} == {"bmi", "s5"}


def test_the_certificate_accepts_the_solution_and_bounds_the_excess_of_any_other(path):
    penalties, fits = path
    penalty = float(penalties[2])
    proof = lasso_certificate(INPUTS, TARGETS, fits.weights[2], penalty)
    assert proof.violation < 1e-8
    assert abs(proof.gap) < 1e-6
    other = lasso_certificate(INPUTS, TARGETS, np.asarray(fits.weights[2]) + 1.0, penalty)
    assert other.gap >= other.objective - proof.objective > 0


def test_one_penalty_and_proximal_steps_give_the_same(path):
    penalties, fits = path
    penalty = float(penalties[1])
    np.testing.assert_allclose(learning.lasso(INPUTS, TARGETS, penalty).weights, fits.weights[1], atol=1e-6)
    steps = learning.proximal_lasso(INPUTS, TARGETS, penalty, num_steps=2000)
    np.testing.assert_allclose(steps, fits.weights[1], atol=1e-6)


def test_orthonormal_columns_are_soft_thresholded_and_a_constant_column_gets_nothing():
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.normal(size=(20, 3)))[0] * np.sqrt(20)
    y = rng.normal(size=20)
    x = np.column_stack([q, np.zeros(20)])
    weights = learning.lasso(x, y, 0.1, intercept=False).weights
    np.testing.assert_allclose(weights[:3], learning.soft_threshold(jnp.asarray(q.T @ y / 20), 0.1), atol=1e-10)
    assert weights[3] == 0
