"""Measures of internal covariate shift against brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.regularisation import gradient_shift, moment_shift, step_landscape
from leadline.regularisation.statistics.activation_shift import squared_mmd

RNG = np.random.default_rng(0)


def test_the_moment_shift_does_not_depend_on_the_scale():
    a, b = RNG.normal(size=(50, 3)), 1.0 + 2.0 * RNG.normal(size=(60, 3))
    moved = (b.mean(0) - a.mean(0)) ** 2 + (b.std(0) - a.std(0)) ** 2
    np.testing.assert_allclose(
        moment_shift(jnp.asarray(a), jnp.asarray(b)), np.sqrt(moved.mean() / a.var(0).mean()), rtol=1e-4
    )
    np.testing.assert_allclose(
        moment_shift(jnp.asarray(7 * a), jnp.asarray(7 * b)), moment_shift(jnp.asarray(a), jnp.asarray(b)), rtol=1e-4
    )


def test_the_discrepancy_is_the_sum_over_pairs():
    a, b = RNG.normal(size=(5, 2)), RNG.normal(size=(4, 2)) + 1

    def k(x, z):
        return np.exp(-np.sum((x - z) ** 2) / (2 * 1.5**2))

    aa = np.mean([k(a[i], a[j]) for i in range(5) for j in range(5) if i != j])
    bb = np.mean([k(b[i], b[j]) for i in range(4) for j in range(4) if i != j])
    ab = np.mean([k(x, z) for x in a for z in b])
    np.testing.assert_allclose(squared_mmd(jnp.asarray(a), jnp.asarray(b), 1.5), aa + bb - 2 * ab, atol=1e-5)
    with pytest.raises(ValueError, match="at least 2"):
        squared_mmd(jnp.ones((1, 2)), jnp.ones((3, 2)), 1.0)


def test_a_layers_gradient_sees_only_the_layers_below():
    before = [jnp.asarray(RNG.normal(size=(3, 3)), jnp.float32) for _ in range(3)]
    after = [w + 0.1 for w in before]
    x = jnp.asarray(RNG.normal(size=3), jnp.float32)

    def loss(layers):
        return jnp.sum(layers[2] @ jnp.tanh(layers[1] @ jnp.tanh(layers[0] @ x)))

    found = gradient_shift(loss, before, after)
    mixed = jax.grad(loss)([after[0], before[1], before[2]])[1]
    own = jax.grad(loss)(before)[1]
    np.testing.assert_allclose(found.distances[1], jnp.linalg.norm(mixed - own) / jnp.linalg.norm(own), rtol=1e-4)
    assert float(found.distances[0]) == 0.0
    with pytest.raises(ValueError, match="3 layers before and 2 after"):
        gradient_shift(loss, before, after[:2])


def test_on_a_quadratic_the_gradient_changes_linearly_along_the_step():
    h = jnp.diag(jnp.array([1.0, 3.0]))
    found = step_landscape(lambda w: w @ h @ w / 2, jnp.array([1.0, 1.0]), jnp.array([0.1, 0.2]))
    np.testing.assert_allclose(found.gradient_changes, np.array([0.1, 0.2]) * np.sqrt(1 + 81), rtol=1e-4)


def test_what_does_not_vary_or_has_no_gradient_gives_no_nan():
    with pytest.raises(ValueError, match="do not vary over the rows"):
        moment_shift(jnp.ones((4, 2)), jnp.zeros((4, 2)))
    dead = gradient_shift(lambda p: p[0] * 0.0 + p[1] ** 2, (jnp.array(1.0), jnp.array(3.0)), (jnp.array(2.0),) * 2)
    assert dead.distances.tolist() == [0.0, 0.0]
    assert dead.cosines.tolist() == [0.0, 1.0]
    woken = gradient_shift(lambda p: p[0] * p[1], (jnp.array(0.0), jnp.array(3.0)), (jnp.array(2.0),) * 2)
    assert woken.distances.tolist() == [0.0, np.inf]
