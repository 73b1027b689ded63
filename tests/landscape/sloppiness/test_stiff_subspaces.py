"""Subspaces: overlaps, leading directions, and training inside them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.stiff_subspaces import displacement_shares, leading_subspace, subspace_overlap


def test_overlap_ignores_the_choice_of_basis_and_is_k_over_p_by_chance():
    rng = np.random.default_rng(0)
    a = sloppiness.random_subspace(3, 8, key=jax.random.key(0))
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ a
    assert subspace_overlap(a, turned) == pytest.approx(1)
    others = [sloppiness.random_subspace(3, 8, key=jax.random.key(s)) for s in range(1, 200)]
    assert np.mean([subspace_overlap(a, b) for b in others]) == pytest.approx(3 / 8, abs=0.03)


def test_leading_subspace_is_that_of_the_singular_value_decomposition():
    root = np.random.default_rng(1).normal(size=(6, 40)) * np.geomspace(1, 1e-3, 6)[:, None]
    leading = leading_subspace(root, 3)
    np.testing.assert_allclose(leading @ leading.T, np.eye(3), atol=1e-9)
    assert subspace_overlap(leading, sloppiness.fisher_spectrum(root).vectors[:3]) == pytest.approx(1)


def test_shares_of_a_displacement_sum_to_one_over_a_basis():
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))[0]
    assert displacement_shares(np.arange(5.0), basis).sum() == pytest.approx(1)


def test_training_in_a_subspace_reaches_the_constrained_minimum_of_a_quadratic_and_stays_in_it():
    rng = np.random.default_rng(3)
    root, target = rng.normal(size=(2, 4, 4))
    hessian, target, start = root @ root.T + np.eye(4), target[0], np.ones(4)
    basis = sloppiness.random_subspace(2, 4, key=jax.random.key(5))
    padded = np.concatenate([basis, np.zeros((1, 4))])
    theta = np.linalg.solve(basis @ hessian @ basis.T, basis @ hessian @ (target - start))

    def loss(params, h, y):
        d = jnp.concatenate([params["a"], params["b"]]) - y
        return d @ h @ d / 2

    params = {"a": jnp.ones(3), "b": jnp.ones(1), "name": "kept"}
    rule = optax.sgd(1 / np.linalg.eigvalsh(hessian)[-1])
    end, losses = sloppiness.train_in_subspace(loss, params, padded, rule, 3000, hessian, target)
    assert end["name"] == "kept"
    np.testing.assert_allclose(jnp.concatenate([end["a"], end["b"]]), start + theta @ basis, atol=1e-7)
    assert losses[0] > losses[-1]


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="same number of rows"):
        subspace_overlap(np.eye(3), np.eye(3)[:2])
    with pytest.raises(ValueError, match="give 1 to 2"):
        sloppiness.random_subspace(3, 2, key=jax.random.key(0))
    with pytest.raises(ValueError, match="flat parameters"):
        sloppiness.train_in_subspace(lambda w: w @ w, jnp.ones(3), np.ones((1, 2)), optax.sgd(0.1), 1)
    with pytest.raises(ValueError, match="fisher_spectrum"):
        leading_subspace(np.diag([1.0, 1e-7]), 2)
    with pytest.raises(ValueError, match="zero"):
        displacement_shares(np.zeros(2), np.eye(2))
