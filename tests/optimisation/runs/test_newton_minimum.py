"""Newton's method with damping against closed forms and SciPy's trust region."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from leadline.optimisation import newton_minimum

RNG = np.random.default_rng(0)


def logistic(x, y, ridge):
    def value(w):
        return np.logaddexp(0, -y * (x @ w)).mean() + ridge / 2 * w @ w

    def derivatives(w):
        s = expit(-y * (x @ w))
        return ridge * w - x.T @ (y * s) / len(y), (x.T * (s * (1 - s))) @ x / len(y) + ridge * np.eye(len(w))

    return value, derivatives


def test_a_quadratic_takes_a_step_or_two_and_its_decrement_is_twice_the_gap():
    root = RNG.normal(size=(5, 5))
    A, b = root @ root.T + np.eye(5), RNG.normal(size=5)
    quadratic = (lambda w: w @ A @ w / 2 - b @ w), np.ones(5), lambda w: (A @ w - b, A)
    start = newton_minimum(*quadratic, max_steps=0)
    end = newton_minimum(*quadratic)
    np.testing.assert_allclose(end.point, np.linalg.solve(A, b), atol=1e-13)
    np.testing.assert_allclose(start.decrement / 2, start.value - end.value, rtol=1e-12)
    assert end.converged
    assert end.num_steps <= 3
    assert not start.converged
    assert "0 steps were not enough" in start.why


@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
def test_logistic_regression_ends_where_a_trust_region_does_and_with_a_smaller_gradient(ridge):
    x, y = RNG.normal(size=(60, 4)) * [1, 10, 0.1, 1], RNG.choice([-1.0, 1.0], 60)
    value, derivatives = logistic(x, y, ridge)
    end = newton_minimum(value, np.zeros(4), derivatives)
    other = minimize(
        value,
        np.zeros(4),
        jac=lambda w: derivatives(w)[0],
        hess=lambda w: derivatives(w)[1],
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    assert end.converged
    assert end.why == "the decrement is at most the tolerance"
    np.testing.assert_allclose(end.point, other.x, atol=1e-5)
    assert np.linalg.norm(end.gradient) < 1e-14
    assert end.value <= other.fun + 1e-15


def test_a_far_start_is_damped():
    end = newton_minimum(
        lambda w: float(np.sum(np.log(np.cosh(w)))), np.full(1, 3.0), lambda w: (np.tanh(w), np.diag(np.cosh(w) ** -2))
    )  # the full step from 3 goes to −98
    assert end.converged
    np.testing.assert_allclose(end.point, 0.0, atol=1e-12)


def test_a_barrier_is_not_crossed():
    def value(w):
        return float(w[0] - 2 * np.log(w[0])) if w[0] > 0 else np.inf

    end = newton_minimum(value, np.array([30.0]), lambda w: (1 - 2 / w, np.diag(2 / w**2)))
    np.testing.assert_allclose(end.point, 2.0, rtol=1e-12)


def test_without_curvature_along_a_direction_the_end_has_no_part_along_it():
    x = RNG.normal(size=(40, 2)) @ np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    y = RNG.choice([-1.0, 1.0], 40)
    end = newton_minimum(logistic(x, y, 0.0)[0], np.zeros(3), logistic(x, y, 0.0)[1])
    null = np.linalg.svd(x)[2][-1]
    assert end.converged
    assert abs(end.point @ null) < 1e-10 * np.linalg.norm(end.point)
    assert np.linalg.norm(end.gradient) < 1e-13


def test_from_beside_a_saddle_it_goes_down_to_a_minimum():
    end = newton_minimum(lambda w: (w[0] ** 2 - 1) ** 2 / 4 + w[1] ** 2, np.array([1e-3, 2.0]))
    assert end.converged
    np.testing.assert_allclose(end.point, [1.0, 0.0], atol=1e-12)


def test_a_saddle_is_not_called_a_minimum():
    end = newton_minimum(lambda w: w[0] ** 2 - w[1] ** 2, np.zeros(2))
    assert not end.converged
    assert "negative eigenvalue" in end.why


def test_rosenbrocks_valley_is_followed_to_its_end():
    end = newton_minimum(lambda w: (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2, jnp.array([-1.2, 1.0]))
    assert end.converged
    np.testing.assert_allclose(end.point, 1.0, atol=1e-12)


def test_single_precision_ends_at_its_own_rounding():
    x, y = RNG.normal(size=(60, 3)).astype(np.float32), RNG.choice([-1.0, 1.0], 60).astype(np.float32)
    exact = newton_minimum(logistic(x, y, 0.1)[0], np.zeros(3), logistic(x, y, 0.1)[1])

    def rounded(w):
        return tuple(part.astype(np.float32) for part in logistic(x, y, 0.1)[1](w))

    end = newton_minimum(lambda w: np.float32(logistic(x, y, 0.1)[0](w)), np.zeros(3), rounded)
    np.testing.assert_allclose(end.point, exact.point, atol=1e-6)
    assert end.num_steps < 20


def test_wrong_derivatives_are_noticed():
    end = newton_minimum(lambda w: float(w @ w), np.ones(2), lambda w: (-2 * w - 1, 2 * np.eye(2)), max_steps=30)
    assert not end.converged
    assert "derivatives may be wrong" in end.why


def test_a_function_without_a_lower_bound_uses_up_its_steps():
    end = newton_minimum(lambda w: float(w[0]), np.zeros(1), lambda w: (np.ones(1), np.zeros((1, 1))), max_steps=20)
    assert not end.converged
    assert end.num_steps == 20
    assert "20 steps were not enough" in end.why


def test_on_the_way_to_a_minimum_at_infinity_the_steps_stay_long():
    end = newton_minimum(lambda w: float(np.exp(-w[0])), np.zeros(1), lambda w: (-np.exp(-w), np.diag(np.exp(-w))))
    assert end.step[0] == pytest.approx(-1.0)


def test_a_start_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite at the start"):
        newton_minimum(lambda w: jnp.sum(jnp.log(w)), np.array([-1.0]))
    with pytest.raises(ValueError, match="not finite at the start"):
        newton_minimum(lambda w: float(w @ w), np.array([np.nan]), lambda w: (2 * w, np.eye(1)))
