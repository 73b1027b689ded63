import numpy as np
import pytest

from leadline.stochastic.moments.noisy_momentum import (
    batch_noise,
    best_tuning,
    heavy_ball_limit,
    mean_square_factor,
    nesterov_limit,
    second_moment_map,
)


def _transition(method, x, rho, q):
    row = [1 + rho - x * q, -rho] if method == "heavy ball" else [(1 - x * q) * (1 + rho), -(1 - x * q) * rho]
    return np.array([row, [1.0, 0.0]])


@pytest.mark.parametrize("method", ["heavy ball", "nesterov"])
def test_the_map_has_the_radius_of_the_mean_kronecker_square(method):
    x, rho, noise = 0.3, 0.7, 2.5
    still, moved = (_transition(method, x, rho, q) for q in (0.0, noise))
    full = (1 - 1 / noise) * np.kron(still, still) + np.kron(moved, moved) / noise
    radius = np.abs(np.linalg.eigvals(full)).max()
    assert float(mean_square_factor(method, x, rho, noise)) == pytest.approx(radius, rel=1e-10)
    state = np.ones(4)
    small = np.ones(3)
    for _ in range(5):
        state, small = full @ state, second_moment_map(method, x, rho, noise) @ small
    assert small[0] == pytest.approx(state[0], rel=1e-12)


def test_stability_limits():
    for rho, noise in ((0.0, 2.0), (0.5, 1.5), (0.9, 3.0), (0.95, 1.0)):
        limit = heavy_ball_limit(rho, noise)
        inside, outside = mean_square_factor("heavy ball", np.array([0.999, 1.001]) * limit, rho, noise)
        assert inside < 1 < outside
    limit = nesterov_limit(2.0)
    inside, outside = mean_square_factor("nesterov", np.array([0.99, 1.01]) * limit, 1 - 1e-7, 2.0)
    assert inside < 1 < outside
    assert nesterov_limit(4.0) == 0.0


def test_best_tuning_without_noise_is_the_classical_one():
    kappa = 100.0
    assert best_tuning("sgd", kappa, 1.0).factor == pytest.approx(((kappa - 1) / (kappa + 1)) ** 2, rel=1e-9)
    root = np.sqrt(kappa)
    assert best_tuning("heavy ball", kappa, 1.0).factor == pytest.approx(((root - 1) / (root + 1)) ** 2, rel=5e-3)
    tuned = best_tuning("nesterov", kappa, 1.0)
    assert tuned.factor == pytest.approx((1 - 2 / np.sqrt(3 * kappa + 1)) ** 2, rel=5e-3)
    worst = mean_square_factor("nesterov", tuned.step * np.array([1.0, 1 / kappa]), tuned.momentum, 1.0).max()
    assert float(worst) == pytest.approx(tuned.factor, rel=1e-9)


def test_bad_input_is_told():
    assert batch_noise(5.0, 2) == 3.0
    for call in (
        lambda: second_moment_map("adam", 0.1, 0.0, 1.0),
        lambda: second_moment_map("sgd", 0.1, 0.0, 0.5),
        lambda: batch_noise(0.5, 1),
        lambda: best_tuning("sgd", 0.5, 1.0),
    ):
        with pytest.raises(ValueError):
            call()
