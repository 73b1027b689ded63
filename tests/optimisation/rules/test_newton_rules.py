import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.optimisation import (
    DoubleWell,
    Quadratic,
    Rosenbrock,
    armijo_step,
    descend,
    modified_newton_step,
    newton,
    newton_cg,
    truncated_conjugate_gradient,
)


def _definite(rng, p):
    root = rng.normal(size=(p, p))
    return root @ root.T + np.eye(p)


def test_one_newton_step_solves_a_quadratic():
    rng = np.random.default_rng(0)
    a, b = _definite(rng, 5), rng.normal(size=5)
    run = descend(Quadratic(jnp.asarray(a), jnp.asarray(b)), newton(), jnp.asarray(rng.normal(size=5)), 1)
    np.testing.assert_allclose(
        run.points[1], np.linalg.solve(a, b), rtol=1e-3 if run.points.dtype == jnp.float32 else 1e-9
    )


def test_modified_step_takes_absolute_eigenvalues_and_damping():
    rng = np.random.default_rng(1)
    a, g = rng.normal(size=(4, 4)), rng.normal(size=4)
    a = a + a.T
    values, vectors = np.linalg.eigh(a)
    expected = -vectors @ (vectors.T @ g / (np.abs(values) + 0.5))
    found = modified_newton_step(jnp.asarray(a), jnp.asarray(g), damping=0.5, curvature="absolute")
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    found = modified_newton_step(jnp.asarray(a), jnp.asarray(g), damping=9.0)
    np.testing.assert_allclose(found, -np.linalg.solve(a + 9 * np.eye(4), g), rtol=1e-4)


def test_searching_newton_reaches_rosenbrocks_minimum_and_never_rises():
    run = descend(Rosenbrock(), newton(curvature="absolute", search=True), jnp.array([-1.2, 1.0]), 30)
    np.testing.assert_allclose(run.points[-1], [1.0, 1.0], atol=1e-3)
    assert np.all(np.diff(np.asarray(run.values)) <= 1e-7)


def test_damping_is_data_and_keeps_newton_off_the_maximum():
    for damping, limit in ((0.0, 0.101031), (2.0, 0.945649)):
        run = descend(DoubleWell(0.1), newton(damping), jnp.array([0.2]), 60)
        assert float(run.points[-1, 0]) == pytest.approx(limit, abs=1e-4)


def test_armijo_takes_the_longest_halving_with_enough_decrease():
    w, d = jnp.array([1.0, 1.0]), jnp.array([-16.0, -16.0])

    def value_fn(v):
        return jnp.sum(v**2)

    s = float(armijo_step(value_fn, w, value_fn(w), 2 * w @ d, d))
    enough = [t for t in 0.5 ** np.arange(20) if 2 * (1 - 16 * t) ** 2 <= 2 + 1e-4 * t * float(2 * w @ d)]
    assert s == enough[0]


def test_conjugate_gradients_solve_and_stop_at_negative_curvature():
    rng = np.random.default_rng(2)
    a, g = _definite(rng, 6), rng.normal(size=6)
    found = truncated_conjugate_gradient(lambda v: jnp.asarray(a) @ v, jnp.asarray(g), 1e-5, 50)
    assert np.linalg.norm(a @ np.asarray(found.direction) + g) <= 2e-5 * np.linalg.norm(g)
    assert int(found.products) <= 13
    assert not bool(found.negative)
    bent = truncated_conjugate_gradient(lambda v: -v, jnp.asarray(g), 1e-5, 50)
    assert bool(bent.negative)
    np.testing.assert_allclose(bent.direction, -g, rtol=1e-6)


def test_newton_cg_works_on_any_pytree():
    parameters = {"a": jnp.array([2.0, -1.0]), "b": jnp.array(3.0)}

    def loss(p):
        return jnp.sum(p["a"] ** 4) + (p["b"] - 1) ** 2 + jnp.sum(p["a"] ** 2)

    rule = newton_cg(max_steps=10)

    @jax.jit
    def step(parameters, state):
        change, state = rule.update(jax.grad(loss)(parameters), state, parameters, value_fn=loss)
        return optax.apply_updates(parameters, change), state

    state = rule.init(parameters)
    for _ in range(12):
        parameters, state = step(parameters, state)
    np.testing.assert_allclose(parameters["a"], 0.0, atol=1e-3)
    assert float(parameters["b"]) == pytest.approx(1.0, abs=1e-3)
    assert 3 <= int(state.products) <= 40


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="value_fn"):
        newton().update(jnp.ones(2), optax.EmptyState(), jnp.ones(2))
    with pytest.raises(ValueError, match="absolute"):
        newton(curvature="upwards")
    with pytest.raises(ValueError, match="most"):
        newton_cg(max_steps=0)
