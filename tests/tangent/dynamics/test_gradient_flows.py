"""Gradient flow against exact exponentials, its orders, and the descent it contains."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.tangent import parameter_flow

A = np.array([[2.0, 0.5], [0.5, 1.0]])
START = jnp.array([1.0, -2.0])


def bowl(w, A):
    return w @ A @ w / 2


def exact(t):
    lam, U = np.linalg.eigh(A)
    return U @ (np.exp(-lam * t) * (U.T @ np.asarray(START)))


def test_the_adaptive_flow_of_a_quadratic_is_the_matrix_exponential():
    times = np.array([0.0, 0.3, 2.0])
    path = parameter_flow(bowl, START, times, A, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(path, [exact(t) for t in times], atol=1e-10)


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("descent", 1)])
def test_fixed_steps_have_the_order_of_their_method(integrator, order):
    errors = [
        np.linalg.norm(
            parameter_flow(bowl, START, np.array([1.0]), A, integrator=integrator, step_size=h)[0] - exact(1.0)
        )
        for h in (0.1, 0.05)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_descent_is_gradient_descent_and_models_keep_their_structure():
    model = {"w": START, "name": "bowl"}
    path = parameter_flow(
        lambda m, A: bowl(m["w"], A),
        model,
        np.array([0.0, 0.1, 0.3]),
        A,
        integrator="descent",
        step_size=0.1 * (1 + 1e-12),
    )
    step = np.eye(2) - 0.1 * A
    w = np.asarray(START)
    np.testing.assert_allclose(path["w"], [w, step @ w, step @ step @ step @ w], rtol=1e-12)
    assert path["name"] == "bowl"
    assert eqx.is_array(path["w"])


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        ([], {}, "increasing times"),
        ([1.0, 0.5], {}, "increasing times"),
        ([1.0], {"integrator": "rk4"}, "positive step"),
        ([1.0], {"integrator": "leapfrog", "step_size": 0.1}, "choose 'adaptive'"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(times, options, message):
    with pytest.raises(ValueError, match=message):
        parameter_flow(bowl, START, np.array(times), A, **options)


def test_a_start_without_numbers_is_refused():
    with pytest.raises(ValueError, match="nothing to move"):
        parameter_flow(bowl, "start", np.array([1.0]), A)
