import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.linalg import sqrtm

from leadline.optimisation import preconditioned_condition, preconditioner, scale_by_matrix
from leadline.optimisation.rules.preconditioning import symmetric_power


def _definite(p=5):
    root = np.random.default_rng(0).normal(size=(p, p))
    return root @ root.T + 0.1 * np.eye(p)


def test_powers_and_choices_against_scipy():
    h = _definite()
    np.testing.assert_allclose(symmetric_power(h, 0.5), sqrtm(h).real, atol=1e-8)
    np.testing.assert_allclose(preconditioner("inverse", h), np.linalg.inv(h), rtol=1e-8)
    np.testing.assert_allclose(
        preconditioner("inverse root", h) @ preconditioner("inverse root", h) @ h, np.eye(5), atol=1e-9
    )
    g = np.random.default_rng(1).normal(size=(7, 5))
    found = preconditioner("empirical fisher", h, gradients=g, floor=0.5)
    np.testing.assert_allclose(np.diagonal(found), ((g**2).mean(0) + 0.5) ** -0.5)
    assert np.array_equal(preconditioner("identity", h), np.eye(5))


def test_condition_is_that_of_the_eigenvalues_of_the_product():
    h, p = _definite(), preconditioner("diagonal", _definite())
    values = np.linalg.eigvals(p @ h).real
    assert preconditioned_condition(p, h) == pytest.approx(values.max() / values.min(), rel=1e-8)
    assert preconditioned_condition(preconditioner("inverse", h), h) == pytest.approx(1.0)


def test_the_rule_chains_with_optax():
    rule = optax.chain(scale_by_matrix(np.diag([2.0, 0.5])), optax.sgd(0.1))
    change, _ = rule.update(jnp.array([1.0, 1.0]), rule.init(jnp.zeros(2)))
    np.testing.assert_allclose(change, [-0.2, -0.05], rtol=1e-6)


def test_bad_input_is_told():
    for call, words in (
        (lambda: symmetric_power(np.diag([1.0, 0.0]), -0.5), "positive definite"),
        (lambda: preconditioner("diagonal", np.diag([1.0, 0.0])), "above 0"),
        (lambda: preconditioner("empirical fisher", np.eye(2)), "gradients"),
        (lambda: preconditioner("best", np.eye(2)), "inverse root"),
        (lambda: preconditioned_condition(np.eye(2), np.diag([1.0, -1.0])), "positive definite"),
        (lambda: scale_by_matrix(np.ones((2, 3))), "square"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
