"""Feature and kernel risk minimisers, the support vector machine and logistic regression against other solvers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from leadline import kernels
from leadline.kernels import machines
from leadline.kernels.machines.risk_minimisers import feature_objective


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    return x, np.where(x[:, 0] ** 2 + x[:, 1] + 0.3 * rng.normal(size=40) > 0.5, 1.0, -1.0)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_newton_finds_the_minimum_that_bfgs_finds(sample, loss):
    x, y = sample
    fit = machines.feature_erm(x, y, 0.05, loss)
    reference = minimize(lambda w: float(feature_objective(w, x, y, 0.05, loss)), np.ones(2), tol=1e-12)
    assert fit.objective <= reference.fun + 1e-12
    np.testing.assert_allclose(fit.weights, reference.x, atol=1e-5)
    assert fit.gradient < 1e-12
    far = machines.feature_erm(x, y, 0.05, loss, start=np.array([50.0, -80.0]))
    np.testing.assert_allclose(far.weights, fit.weights, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_the_kernel_form_gives_the_same_function(sample, loss):
    x, y = sample
    feature, kernel = (machines.feature_erm(x, y, 0.02, loss), machines.kernel_erm(kernels.Linear(), x, y, 0.02, loss))
    np.testing.assert_allclose(kernel.scores, x @ feature.weights, atol=1e-6)
    assert kernel.objective == pytest.approx(feature.objective, abs=1e-10)
    assert kernel.residual < 1e-10


@pytest.mark.parametrize("bias", [False, True])
def test_the_support_vector_machine_meets_its_conditions_and_svc(sample, bias):
    from sklearn.svm import SVC

    x, y = sample
    k = kernels.Gaussian(0.8)
    fit = machines.kernel_svm(k, x, y, 0.01, bias=bias)
    assert fit.residual < 1e-10
    assert fit.multipliers.max() <= 1 / (2 * 40 * 0.01) + 1e-12
    assert np.all(y[fit.support] * fit.scores[fit.support] <= 1 + 1e-10)
    if bias:
        reference = SVC(C=1 / (2 * 40 * 0.01), gamma=1 / (2 * 0.8**2), tol=1e-8).fit(x, y)
        np.testing.assert_allclose(fit.scores, reference.decision_function(x), atol=1e-4)
    else:
        for direction in np.random.default_rng(1).normal(size=(20, 40)):
            alpha = fit.multipliers * y + 1e-3 * direction
            f = k(x, x) @ alpha
            assert np.maximum(0, 1 - y * f).mean() + 0.01 * alpha @ f >= fit.objective


@pytest.mark.parametrize("bias", [False, True])
def test_degenerate_samples_are_solved_to_rounding(bias):
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=(60, 2)))  # many equal points, some with both labels
    y = np.where(x[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    for kernel in (kernels.Linear(), kernels.Polynomial(3, 1.0)):
        for gamma in (1e-4, 0.01, 1.0):  # at 1 every multiplier is at its bound
            assert machines.kernel_svm(kernel, x, y, gamma, bias=bias).residual < 1e-9


def test_repeated_points_do_not_harm(sample):
    x, y = sample
    double, labels = np.concatenate([x, x]), np.concatenate([y, y])
    for loss in ("squared", "logistic", "hinge"):
        fit = machines.kernel_erm(kernels.Gaussian(1.0), double, labels, 0.01, loss)
        single = machines.kernel_erm(kernels.Gaussian(1.0), x, y, 0.01, loss)
        np.testing.assert_allclose(fit.scores[:40], single.scores, atol=1e-7)


def test_the_hard_margin_is_that_of_explicit_features():
    from leadline.linear_classifiers.margins import max_margin

    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 4))
    y = np.sign(x @ np.array([1.0, 2.0, 0.0, -1.0]))
    found, exact = machines.kernel_margin(kernels.Linear(), x, y), max_margin(x, y, bias=False)
    assert found.margin == pytest.approx(exact.margin, rel=1e-8)
    assert found.radius == pytest.approx(exact.radius)
    np.testing.assert_allclose(x.T @ np.asarray(found.expansion.coefficients), exact.weights, rtol=1e-6)
    assert found.residual < 1e-9
    with pytest.raises(ValueError, match="not separable"):
        machines.kernel_margin(kernels.Linear(), np.array([[1.0], [1.0]]), np.array([1.0, -1.0]))


def test_kernel_logistic_agrees_with_scikit_learn(sample):
    from sklearn.linear_model import LogisticRegression

    x, y = sample
    fit = machines.kernel_logistic(kernels.Affine(), x, y, 0.05)
    design = np.column_stack([x, np.ones(40)])
    reference = LogisticRegression(C=1 / (2 * 40 * 0.05), fit_intercept=False, tol=1e-10).fit(design, y)
    np.testing.assert_allclose(fit.scores, reference.decision_function(design), atol=1e-4)


def test_descent_in_features_and_in_kernel_form_coincide(sample):
    x, y = sample
    stream = np.random.default_rng(3).integers(0, 40, 200)
    kernel = machines.kernel_logistic_descent(kernels.Linear()(x, x), y, stream, 0.3, gamma=0.1)
    feature = machines.feature_logistic_descent(x, y, stream, 0.3, gamma=0.1)
    np.testing.assert_allclose(kernel.scores, feature.scores, atol=1e-12)
    np.testing.assert_allclose(x.T @ kernel.beta, feature.weights, atol=1e-12)


def test_bad_input(sample):
    x, y = sample
    with pytest.raises(ValueError, match="Unknown loss 'ramp'"):
        machines.kernel_erm(kernels.Linear(), x, y, 0.1, "ramp")
    for solve in (machines.kernel_erm, machines.kernel_svm):
        with pytest.raises(ValueError, match="gamma = 0"):
            solve(kernels.Linear(), x, y, 0.0)
    with pytest.raises(ValueError, match=r"labels other than -1 and \+1"):
        machines.kernel_logistic(kernels.Linear(), x, (y + 1) / 2, 0.1)
    with pytest.raises(ValueError, match="All labels are equal"):
        machines.kernel_svm(kernels.Linear(), x, np.ones(40), 0.1, bias=True)
    with pytest.raises(ValueError, match="one target per row"):
        machines.feature_erm(x[:3], y[:2], 0.1)
