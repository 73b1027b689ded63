import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation, stochastic


def small_problem():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(40, 2)), np.ones((40, 1))], axis=1)
    return optimisation.SoftmaxRidge(jnp.asarray(x), jnp.asarray(rng.integers(3, size=40)), jnp.asarray(0.1), 3)


def test_the_equilibrium_is_that_of_newton_and_autodiff():
    problem = small_problem()
    found = stochastic.softmax_equilibrium(problem)
    w = jnp.asarray(found.minimiser)
    known = jax.jit(lambda w: (*jax.value_and_grad(problem)(w), problem.hessian(w), problem.sample_gradients(w)))
    value, gradient, hessian, rows = known(w)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.hessian, hessian, atol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(rows.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(found.minimum, value, rtol=1e-12)
    flat = optimisation.SoftmaxRidge(problem.x, problem.labels, jnp.asarray(0.0), 3)
    with pytest.raises(ValueError, match="penalty"):
        stochastic.softmax_equilibrium(flat)


def test_the_measured_floor_is_the_predicted_one():
    problem = small_problem()
    w, minimum, hessian, covariance = stochastic.softmax_equilibrium(problem)
    run = stochastic.measured_floor(
        problem, 0.05, 2, num_steps=4000, start=w, minimum=minimum, key=jax.random.key(0), runs=40
    )
    ratios = run.floor / stochastic.noise_floor(0.05, 2, hessian, covariance)
    assert abs(ratios.mean() - 1) < 0.02 + 4 * ratios.std() / np.sqrt(40)
    averaged = run.averaged / stochastic.averaged_gap(2000, 2, hessian, covariance)
    assert abs(averaged.mean() - 1) < 0.15 + 4 * averaged.std() / np.sqrt(40)
    with pytest.raises(ValueError, match="batch"):
        stochastic.measured_floor(problem, 0.05, 0, num_steps=100, start=w, minimum=minimum, key=jax.random.key(0))
