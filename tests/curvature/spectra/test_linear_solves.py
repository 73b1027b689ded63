import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from quadratic_operators import with_spectrum

from leadline import curvature

KEY = jax.random.key(0)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_a_definite_system_is_solved_to_the_tolerance(damping):
    operator, matrix = with_spectrum(np.geomspace(10, 0.1, 80))
    b = np.random.default_rng(0).normal(size=80)
    found = operator.solve(b, damping=damping, tolerance=1e-10)
    np.testing.assert_allclose(found.x, np.linalg.solve(matrix + damping * np.eye(80), b), rtol=1e-6, atol=1e-7)
    assert found.converged
    assert not found.indefinite
    assert found.residual <= 1e-10
    assert found.iterations <= 120
    assert found.curvature >= 0.1 + damping - 1e-9


def test_four_distinct_eigenvalues_take_four_steps():
    operator, _ = with_spectrum(np.repeat([1.0, 4.0, 9.0, 16.0], 20))
    assert operator.solve(np.ones(80), tolerance=1e-9).iterations == 4


def test_single_precision_reaches_a_true_residual():
    operator, _ = with_spectrum(np.geomspace(10, 0.1, 80), dtype=jnp.float32)
    found = operator.solve(np.ones(80, np.float32), tolerance=1e-5)
    assert found.converged
    assert found.residual <= 1e-5
    assert found.x.dtype == jnp.float32


def test_what_single_precision_cannot_reach_is_not_called_converged():
    operator, _ = with_spectrum(np.geomspace(1e4, 0.1, 80), dtype=jnp.float32)
    found = operator.solve(np.ones(80, np.float32), tolerance=1e-6, max_steps=10_000)
    assert not found.converged
    assert 1e-6 < found.residual < 0.1
    assert found.iterations < 10_000


def test_an_indefinite_operator_gives_a_direction_of_negative_curvature():
    operator, matrix = with_spectrum(np.concatenate([np.linspace(1, 5, 78), [-1.0, -2.0]]))
    found = operator.solve(np.ones(80))
    d = np.asarray(found.direction)
    assert found.indefinite
    assert not found.converged
    assert d @ matrix @ d == pytest.approx(found.curvature)
    assert found.curvature < 0
    assert np.linalg.norm(d) == pytest.approx(1)
    assert operator.solve(np.ones(80), damping=2.5).converged


def test_a_budget_that_is_too_small_returns_the_last_iterate():
    operator, matrix = with_spectrum(np.geomspace(100, 0.01, 80))
    found = operator.solve(np.ones(80), max_steps=5)
    assert found.iterations == 5
    assert not found.converged
    assert found.residual == pytest.approx(np.linalg.norm(1 - matrix @ found.x) / np.sqrt(80))


def test_the_right_hand_side_may_be_a_pytree_and_zero():
    params = {"a": jnp.ones(2), "b": jnp.ones((2, 2))}
    operator = curvature.hessian(lambda p: jnp.sum(p["a"] ** 2) + 2 * jnp.sum(p["b"] ** 2), params)
    found = operator.solve({"a": jnp.full(2, 2.0), "b": jnp.full((2, 2), 8.0)})
    np.testing.assert_allclose(found.x["a"], 1.0)
    np.testing.assert_allclose(found.x["b"], 2.0)
    nothing = operator.solve(jnp.zeros(6))
    assert nothing.converged
    assert nothing.iterations == 0
    assert not np.any(nothing.x)


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_the_log_determinant_lies_within_its_error(damping):
    operator, matrix = with_spectrum(np.geomspace(10, 0.1, 80))
    found = operator.logdet(key=KEY, damping=damping, probes=10, num_steps=40)
    exact = np.linalg.slogdet(matrix + damping * np.eye(80))[1]
    assert abs(found.value - exact) < 4 * found.standard_error
    assert 0 <= found.truncation < 0.1


def test_an_operator_that_is_not_positive_definite_has_no_log_determinant():
    with pytest.raises(ValueError, match="not positive definite"):
        with_spectrum(np.linspace(-1, 3, 80))[0].logdet(key=KEY, probes=10, num_steps=40)
    low_rank, _ = with_spectrum(np.concatenate([np.ones(10), np.zeros(70)]))
    with pytest.raises(ValueError, match="not positive definite"):
        low_rank.logdet(key=KEY, probes=10, num_steps=40)
    assert np.isfinite(low_rank.logdet(key=KEY, damping=0.1, probes=10, num_steps=40).value)


def test_too_few_steps_are_told():
    singular, _ = with_spectrum(np.concatenate([np.geomspace(10, 1e-3, 60), np.zeros(20)]))
    with pytest.warns(UserWarning, match="take more steps"):
        singular.logdet(key=KEY, probes=10, num_steps=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        singular.logdet(key=KEY, damping=1.0, probes=10, num_steps=5)


def test_bad_input_is_refused():
    operator, _ = with_spectrum(np.arange(1.0, 81.0))
    with pytest.raises(ValueError, match="length 80"):
        operator.solve(np.ones(79))
    with pytest.raises(ValueError, match="λ ≥ 0"):
        operator.solve(np.ones(80), damping=-1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        operator.solve(np.ones(80), tolerance=0.0)
    with pytest.raises(ValueError, match="at least 1"):
        operator.solve(np.ones(80), max_steps=0)
    with pytest.raises(ValueError, match="at least 2"):
        operator.logdet(key=KEY, probes=1)
    with pytest.raises(ValueError, match="not finite"):
        with_spectrum(np.full(80, np.inf))[0].solve(np.ones(80))
