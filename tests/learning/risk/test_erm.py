"""Empirical risk minimisation: certificates, existence and uniqueness, against SciPy and scikit-learn."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

from leadline.learning import minimise_risk
from leadline.learning.risk.erm import descend_risk, separated_count

rng = np.random.default_rng(0)
X = np.hstack([rng.normal(size=(40, 2)), np.ones((40, 1))])
Y = X @ np.array([1.0, -2.0, 0.5]) + rng.standard_t(3, size=40)
LABELS = np.where(Y + 2 * rng.normal(size=40) > 0, 1.0, -1.0)


def test_squared_loss_agrees_with_lstsq_and_its_gap_is_the_excess():
    best = minimise_risk(X, Y)
    np.testing.assert_allclose(best.parameters, np.linalg.lstsq(X, Y, rcond=None)[0])
    assert best.exists
    assert best.unique
    assert best.gradient_norm < 1e-13
    assert best.gap < 1e-28


def test_a_rank_deficient_design_has_many_minimisers_and_the_least_norm_is_returned():
    twins = np.hstack([X, X[:, :1]])
    best = minimise_risk(twins, Y)
    assert best.unique is False
    assert best.null_space.shape == (4, 1)
    assert best.parameters[0] == pytest.approx(best.parameters[3])
    assert best.risk == pytest.approx(minimise_risk(X, Y).risk)


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_linear_programmes_close_the_duality_gap_and_beat_a_direct_search(loss):
    y = Y if loss == "absolute" else LABELS

    def risk(w):
        return np.mean(np.abs(y - X @ w)) if loss == "absolute" else np.mean(np.maximum(0, 1 - y * (X @ w)))

    best = minimise_risk(X, y, loss=loss)
    assert best.risk == pytest.approx(risk(best.parameters))
    assert abs(best.gap) < 1e-10
    search = minimize(risk, best.parameters + 0.1, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9})
    assert search.fun >= best.risk - 1e-12


def test_logistic_loss_agrees_with_a_quasi_newton_search():
    best = minimise_risk(X, LABELS, loss="logistic")
    other = minimize(lambda w: np.mean(np.logaddexp(0, -LABELS * (X @ w))), np.zeros(3), method="BFGS", tol=1e-10)
    assert best.exists
    assert best.unique
    assert best.gradient_norm < 1e-12
    np.testing.assert_allclose(best.parameters, other.x, atol=1e-5)
    assert best.gap < 1e-20


def test_separable_labels_have_no_logistic_minimiser():
    y = np.where(X @ np.array([1.0, 1.0, 0.1]) > 0, 1.0, -1.0)
    best = minimise_risk(X, y, loss="logistic")
    assert not best.exists
    assert best.risk == 0
    assert np.all(y * (X @ best.parameters) > 0)


def test_quasi_separable_labels_keep_the_minimum_of_what_overlaps():
    x = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0])  # the second input separates the first example alone
    assert separated_count(x, y)[0] == 1
    best = minimise_risk(x, y, loss="logistic")
    assert not best.exists
    share = 2 / 3
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert best.risk == pytest.approx(0.75 * entropy)


def test_a_descent_reports_the_gradient_at_its_end():
    end = descend_risk(lambda w, x, y: jnp.mean((x @ w - y) ** 2), jnp.zeros(3), optax.sgd(0.1), 800, X, Y)
    np.testing.assert_allclose(end.model, minimise_risk(X, Y).parameters, atol=1e-6)
    assert end.gradient_norm < 1e-6
    assert end.risk == pytest.approx(minimise_risk(X, Y).risk)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="give"):
        minimise_risk(X[:0], Y[:0])
    with pytest.raises(ValueError, match="choose one of"):
        minimise_risk(X, Y, loss="cubic")
    with pytest.raises(ValueError, match="recode"):
        minimise_risk(X, np.zeros(40), loss="logistic")
