import numpy as np
import pytest
import scipy.linalg

from leadline import stochastic
from leadline.stochastic.sgd_bounds import (
    convex_bound,
    decaying_step_bound,
    distance_bound,
    equilibrium_steps,
    expected_decrease_bound,
    progress_threshold,
    settled_average_gap,
)


def test_the_noise_floor_is_the_fixed_point_of_the_second_moment():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 4))
    hessian, covariance = a @ a.T + np.eye(4), b @ b.T
    step = 1.2 / np.linalg.eigvalsh(hessian)[-1]
    shrink = np.eye(4) - step * hessian
    second = scipy.linalg.solve_discrete_lyapunov(shrink, step**2 * covariance / 3)
    floor = stochastic.noise_floor(step, 3, hessian, covariance)
    np.testing.assert_allclose(floor, np.trace(hessian @ second) / 2, rtol=1e-10)
    assert stochastic.noise_floor(2.001 / np.linalg.eigvalsh(hessian)[-1], 3, hessian, covariance) == np.inf


def test_the_transient_has_the_named_share_left_at_equilibrium():
    steps = equilibrium_steps(0.1, 0.2, remaining=0.01)
    assert (1 - 0.02) ** (2 * steps) <= 0.01 < (1 - 0.02) ** (2 * (steps - 1))
    with pytest.raises(ValueError, match="not in"):
        equilibrium_steps(2.0, 1.0)


def test_the_threshold_is_the_root_of_the_expected_progress():
    rng = np.random.default_rng(1)
    gradients, w, best = rng.normal(size=(5, 3)) + 1, np.ones(3), np.zeros(3)
    step = progress_threshold(w, best, gradients)
    after = np.mean(np.sum((w - step * gradients - best) ** 2, axis=1))
    np.testing.assert_allclose(after, 3.0, rtol=1e-12)


def test_the_bounds_of_a_constant_step_agree_with_their_recursion():
    constants = {"smoothness": 2.0, "strong_convexity": 0.5, "sigma0": 0.3}
    gap, step = 1.0, 0.1
    for _ in range(7):  # gap⁺ = (1 − ηm) gap + η²Lσ₀/2
        gap = (1 - step * 0.5) * gap + step**2 * 2.0 * 0.3 / 2
    np.testing.assert_allclose(stochastic.constant_step_bound(7, 1.0, step, **constants), gap, rtol=1e-12)
    np.testing.assert_allclose(stochastic.guaranteed_floor(step, **constants), 0.06)
    np.testing.assert_allclose(stochastic.largest_constant_step(smoothness=2.0, sigma=5.0, batch=4), 0.25)
    zero = expected_decrease_bound(0.1 * 2 * 0.3 / (2 - 0.1 * 2 * 5), 0.1, smoothness=2.0, sigma0=0.3, sigma=5.0)
    np.testing.assert_allclose(zero, 0.0, atol=1e-15)


def test_the_distance_bound_has_the_limits_of_the_six_points():
    bounds = [
        distance_bound(10**9, 1.0, share / 1.44, largest_smoothness=1.44, strong_convexity=0.8166667, noise=0.159787)
        for share in (0.1, 0.5, 0.9)
    ]
    np.testing.assert_allclose(bounds, [0.01510, 0.13587, 1.22286], rtol=1e-3)
    with pytest.raises(ValueError, match="1/L_max"):
        distance_bound(1, 1.0, 1.0, largest_smoothness=1.44, strong_convexity=0.8, noise=0.1)


def test_the_remaining_bounds_have_their_closed_forms():
    np.testing.assert_allclose(stochastic.averaged_gap(10, 2, np.diag([1.0, 4.0]), np.eye(2)), 1.25 / 40)
    bound = {"scale": 2.0, "shift": 1.0, "smoothness": 1.0, "strong_convexity": 1.0, "sigma0": 1.0}
    np.testing.assert_allclose(decaying_step_bound(9, 0.5, **bound), 0.2)
    np.testing.assert_allclose(decaying_step_bound(9, 3.0, **bound), 0.6)
    with pytest.raises(ValueError, match="above 1"):
        decaying_step_bound(9, 0.5, **(bound | {"scale": 0.5}))
    steps = np.array([0.1, 0.3])
    np.testing.assert_allclose(convex_bound(steps, radius=2.0, gradient_bound=3.0), (4 + 9 * 0.1) / 0.8)


def test_the_mean_of_settled_iterates_has_its_double_sum():
    hessian, covariance, eta, count = np.diag([1.0, 0.3]), np.array([[2.0, 0.4], [0.4, 1.0]]), 0.4, 7
    second = scipy.linalg.solve_discrete_lyapunov(np.eye(2) - eta * hessian, eta**2 * covariance / 2)
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    variances = [second[j, j] * np.mean((1 - eta * hessian[j, j]) ** lags) for j in range(2)]
    found = settled_average_gap(count, eta, 2, hessian, covariance)
    np.testing.assert_allclose(found, hessian.diagonal() @ variances / 2, rtol=1e-12)
    leading = stochastic.averaged_gap(10**6, 2, hessian, covariance)
    np.testing.assert_allclose(settled_average_gap(10**6, eta, 2, hessian, covariance), leading, rtol=1e-4)
