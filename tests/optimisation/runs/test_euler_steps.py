import numpy as np
import pytest
from scipy.optimize import minimize

from leadline.optimisation.runs.euler_steps import flow_step, stability_factor


def test_implicit_euler_is_the_proximal_step_on_log_cosh():
    w, step = np.array([3.0, -1.0]), 5.0
    after = flow_step("implicit euler", np.tanh, w, step, hessian=lambda v: np.diag(1 - np.tanh(v) ** 2))
    np.testing.assert_allclose(after + step * np.tanh(after), w, atol=1e-12)
    best = minimize(lambda v: np.sum(np.log(np.cosh(v))) + np.sum((v - w) ** 2) / (2 * step), w).x
    np.testing.assert_allclose(after, best, atol=1e-4)


def test_orders_of_the_schemes_on_a_quartic():
    exact = 1 / np.sqrt(3)  # w' = -w³ from 1, at time 1
    for scheme, order in (("euler", 1), ("implicit euler", 1), ("midpoint", 2), ("rk4", 4)):
        errors = []
        for count in (32, 64):
            w = np.ones(1)
            for _ in range(count):
                w = flow_step(scheme, lambda v: v**3, w, 1 / count, hessian=lambda v: np.diag(3 * v**2))
            errors.append(abs(w[0] - exact))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_factors_match_the_exponential_to_their_order_and_bad_input_is_told():
    z = np.array([1e-2])
    for scheme, order in (("euler", 1), ("implicit euler", 1), ("midpoint", 2), ("rk4", 4)):
        assert abs(stability_factor(scheme, z) - np.exp(-z))[0] < z[0] ** (order + 1)
    with pytest.raises(ValueError, match="hessian"):
        flow_step("implicit euler", np.tanh, np.ones(1), 1.0)
    for call in (lambda: flow_step("leap", np.tanh, np.ones(1), 1.0), lambda: stability_factor("leap", z)):
        with pytest.raises(ValueError, match="rk4"):
            call()
