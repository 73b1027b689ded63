"""Kernel ridge against scikit-learn, explicit features and refits."""

import warnings

import numpy as np
import pytest

from leadline import kernels
from leadline.kernels import machines
from leadline.kernels.machines.factorisation import factorise
from leadline.kernels.machines.ridge_regression import penalty_for_residual
from leadline.learning import ridge


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(25, 3))
    return x, np.sin(x @ np.array([1.0, -2.0, 0.5])) + 0.1 * rng.normal(size=25)


def test_agrees_with_scikit_learn(sample):
    from sklearn.kernel_ridge import KernelRidge

    x, y = sample
    both = np.column_stack([y, y**2])
    fit = machines.kernel_ridge(kernels.Gaussian(1.5), x, both, 0.01)
    reference = KernelRidge(alpha=0.25, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(x, both)
    np.testing.assert_allclose(fit.alpha, reference.dual_coef_, rtol=1e-10)
    np.testing.assert_allclose(fit.predict(x[:5] + 0.1), reference.predict(x[:5] + 0.1), rtol=1e-9)
    np.testing.assert_allclose(fit.norm, fit.expansion.norm(), rtol=1e-10)


def test_with_the_linear_kernel_it_is_ridge_without_intercept(sample):
    x, y = sample
    fit = machines.kernel_ridge(kernels.Linear(), x, y, 0.1)
    weights = ridge(x, y, 0.1, intercept=False).weights
    np.testing.assert_allclose(x.T @ fit.alpha, weights, rtol=1e-10)
    assert fit.norm == pytest.approx(np.linalg.norm(weights), rel=1e-10)


def test_leave_one_out_equals_refits(sample):
    x, y = sample
    fit = machines.kernel_ridge(kernels.Gaussian(1.0), x, y, 0.02)
    K = kernels.Gaussian(1.0)(x, x)
    for i in (0, 7, 24):
        rest = np.delete(np.arange(25), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + 25 * 0.02 * np.eye(24), y[rest])
        assert fit.leave_one_out()[i] == pytest.approx(y[i] - K[i, rest] @ alpha, rel=1e-9)


def test_the_path_holds_the_single_fits(sample):
    x, y = sample
    both = np.column_stack([y, -2 * y])
    path = machines.kernel_ridge_path(kernels.Gaussian(1.0), x, both, np.array([1e-4, 0.1, 10.0]))
    for k, gamma in enumerate(path.gammas):
        fit = machines.kernel_ridge(kernels.Gaussian(1.0), x, both, gamma)
        np.testing.assert_allclose(path.alpha[k], fit.alpha, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(path.fitted[k], fit.fitted, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(path.leave_one_out[k], fit.leave_one_out(), rtol=1e-8)
        np.testing.assert_allclose(path.squared_norms[k], fit.norm**2, rtol=1e-8)
        assert path.degrees_of_freedom[k] == pytest.approx(fit.degrees_of_freedom(), rel=1e-9)
    squares = np.mean(path.leave_one_out**2, axis=(1, 2))
    assert path.best() == np.argmin(squares)


def test_a_penalty_is_found_for_a_wanted_residual(sample):
    x, y = sample
    K = kernels.Gaussian(1.0)(x, x)
    gamma = penalty_for_residual(K, y, 0.1)
    fit = machines.kernel_ridge(kernels.Gaussian(1.0), x, y, gamma)
    assert np.mean((fit.fitted - y) ** 2) == pytest.approx(0.1, rel=1e-9)
    with pytest.raises(ValueError, match="No penalty"):
        penalty_for_residual(K, y, 100.0)


def test_images_are_inputs_too():
    x = np.random.default_rng(1).normal(size=(6, 2, 2))
    fit = machines.kernel_ridge(kernels.Gaussian(1.0), x, np.arange(6.0), 0.0)
    np.testing.assert_allclose(fit.predict(x), np.arange(6.0), atol=1e-8)


def test_a_function_that_is_no_kernel_is_refused_with_its_eigenvalue(sample):
    points = np.array([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"Eigenvalue 1 of 2 .* is -1 .*not a kernel"):
        machines.kernel_ridge(kernels.squared_distances, points, np.ones(2), 0.1)
    with pytest.raises(ValueError, match="not a kernel"):
        machines.kernel_ridge_path(kernels.squared_distances, points, np.ones(2), np.array([0.1]))
    with pytest.raises(ValueError, match=r"zero to rounding.*remove repeated points"):
        machines.kernel_ridge(kernels.Linear(), np.ones((2, 1)), np.ones(2), 0.0)


def test_bad_input(sample):
    x, y = sample
    with pytest.raises(ValueError, match="gamma = -1"):
        machines.kernel_ridge(kernels.Linear(), x, y, -1.0)
    with pytest.raises(ValueError, match="one target per row"):
        machines.kernel_ridge(kernels.Linear(), x, y[:-1], 1.0)
    with pytest.raises(ValueError, match="NaN"):
        machines.kernel_ridge(kernels.Linear(), x, np.where(y > 0, y, np.nan), 1.0)
    with pytest.raises(ValueError, match=r"nan at \(0, 1\)"):
        factorise(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    with pytest.raises(ValueError, match="above 0"):
        machines.kernel_ridge_path(kernels.Linear(), x, y, np.array([0.0]))
    with pytest.raises(ValueError, match="square"):
        factorise(np.ones((2, 3)))


def test_single_precision_warns_with_the_loss_of_accuracy():
    x = np.linspace(0, 1, 20)[:, None]
    K = kernels.Gaussian(3.0)(x, x)
    with pytest.warns(UserWarning, match=r"single precision .* condition number"):
        factor = factorise(K.astype(np.float32), shift=1e-5)
    assert factor.lower.dtype == np.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = factorise(K, shift=1e-5)
        factorise(K.astype(np.float32), shift=1.0)
    reference = np.linalg.cond(K + 1e-5 * np.eye(20), 1)
    assert reference / 3 < exact.condition < 1.01 * reference
    assert exact.log_determinant() == pytest.approx(np.linalg.slogdet(K + 1e-5 * np.eye(20))[1])
