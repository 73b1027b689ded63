import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from leadline.linear_classifiers import margins


def _overlapping(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


@pytest.mark.parametrize("bias", [False, True])
def test_the_minimum_agrees_with_a_quadratic_programme(bias):
    x, y = _overlapping(0)
    n, d, ridge = *x.shape, 0.1
    # Variables (w, b, slacks): minimise mean slack + ridge/2 ‖w‖² under y (w.x + b) >= 1 - slack, slack >= 0.
    rows = np.column_stack([y[:, None] * x, y * bias, np.eye(n)])
    objective = lambda z: z[d + 1 :].mean() + ridge / 2 * (z[:d] ** 2).sum()  # noqa: E731
    gradient = lambda z: np.concatenate([ridge * z[:d], [0.0], np.full(n, 1 / n)])  # noqa: E731
    positive = LinearConstraint(np.column_stack([np.zeros((n, d + 1)), np.eye(n)]), 0, np.inf)
    start = np.concatenate([np.zeros(d + 1), 1.1 * np.ones(n)])
    reference = minimize(
        objective,
        start,
        jac=gradient,
        constraints=[LinearConstraint(rows, 1, np.inf), positive],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = margins.soft_margin(x, y, ridge=ridge, bias=bias)
    np.testing.assert_allclose(found.objective, reference.fun, rtol=1e-6)
    np.testing.assert_allclose(found.weights, reference.x[:d], atol=1e-3)


@pytest.mark.parametrize("bias", [False, True])
def test_a_vanishing_ridge_gives_the_hard_margin(bias):
    x, y = _overlapping(1)
    x = x + 5 * y[:, None]
    soft, hard = margins.soft_margin(x, y, ridge=1e-5, bias=bias), margins.max_margin(x, y, bias=bias)
    np.testing.assert_allclose(soft.margin, hard.margin, rtol=1e-5)
    assert soft.losses.max() < 1e-5


def test_losses_above_one_are_the_mistakes():
    x, y = _overlapping(2)
    soft = margins.soft_margin(x, y, ridge=0.1)
    assert ((soft.losses > 1) == (y * (x @ soft.weights + soft.bias) < 0)).all()


def test_bad_ridges_and_single_classes_are_refused():
    x, y = _overlapping(3)
    with pytest.raises(ValueError, match="The ridge is 0"):
        margins.soft_margin(x, y, ridge=0.0)
    with pytest.raises(ValueError, match="All labels are equal"):
        margins.soft_margin(x, np.ones(len(y)), ridge=0.1)
