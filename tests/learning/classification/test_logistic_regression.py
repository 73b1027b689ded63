"""Logistic regression against scikit-learn, closed forms and finite differences."""

import jax
import numpy as np
import pytest

from leadline.learning import descend_logistic, finite_fit_exists, fit_logistic


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-(x @ [1.0, -2.0, 0.5] + 0.3)))).astype(int)
    return x, y


def test_newton_agrees_with_scikit_learn(sample):
    from sklearn.linear_model import LogisticRegression

    x, y = sample
    for ridge in (0.0, 0.1):
        mine = fit_logistic(x, y, ridge=ridge)
        C = np.inf if ridge == 0 else 1 / (ridge * len(x))
        theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(x, y)
        np.testing.assert_allclose([*mine.weights, mine.bias], [*theirs.coef_[0], *theirs.intercept_], atol=2e-6)
        assert mine.gradient < 1e-12


def test_gradient_descent_and_sgd_end_near_newton(sample):
    x, y = sample
    newton = fit_logistic(x, y)
    full = descend_logistic(x, y, num_steps=3000)
    np.testing.assert_allclose([*full.weights, full.bias], [*newton.weights, newton.bias], atol=1e-6)
    noisy = descend_logistic(x, y, num_steps=3000, rate=0.05, batch=32, key=jax.random.key(0))
    assert noisy.loss < newton.loss + 0.01


def test_the_covariance_is_the_inverse_hessian_of_the_summed_loss(sample):
    x, y = sample
    fit = fit_logistic(x, y)
    matrix, sign = np.column_stack([x, np.ones(len(x))]), 2 * y - 1
    w, h = np.array([*fit.weights, fit.bias]), 1e-4

    def total(u):
        return np.logaddexp(0, -sign * (matrix @ u)).sum()

    e = h * np.eye(4)
    hessian = [[(total(w + a + b) - total(w + a) - total(w + b) + total(w)) / h**2 for a in e] for b in e]
    np.testing.assert_allclose(fit.covariance @ hessian, np.eye(4), atol=2e-3)


def test_two_cells_give_their_shares():
    x, y = np.repeat([[0.0], [1.0]], [10, 20], axis=0), np.r_[np.arange(10) < 3, np.arange(20) < 15].astype(int)
    np.testing.assert_allclose(fit_logistic(x, y).probability(np.array([[0.0], [1.0]])), [0.3, 0.75], atol=1e-9)


def test_separable_samples_are_refused_even_with_points_on_the_plane():
    x = np.array([[0.0], [1.0], [1.0], [2.0]])
    for y in ([0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]):
        assert not finite_fit_exists(x, np.array(y))
        with pytest.raises(ValueError, match="ridge"):
            fit_logistic(x, np.array(y))
    assert finite_fit_exists(np.arange(4.0)[:, None], np.array([0, 1, 0, 1]))
    assert fit_logistic(x, np.array([0, 0, 1, 1]), ridge=0.1).loss < 0.6
    assert descend_logistic(x, np.array([0, 0, 1, 1]), num_steps=5).loss < np.log(2)


def test_a_column_that_repeats_another_does_not_matter(sample):
    x, y = sample
    twice = fit_logistic(np.column_stack([x, x[:, 0]]), y)
    once = fit_logistic(x, y)
    assert twice.loss == pytest.approx(once.loss, rel=1e-12)
    assert twice.weights[0] + twice.weights[3] == pytest.approx(once.weights[0], rel=1e-6)


def test_bad_input_is_refused(sample):
    x, y = sample
    with pytest.raises(ValueError, match="0 or 1"):
        fit_logistic(x, 2 * y - 1)
    with pytest.raises(ValueError, match="at least 0"):
        fit_logistic(x, y, ridge=-1.0)
