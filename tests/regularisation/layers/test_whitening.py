"""Whitening against NumPy, SciPy and the whitening of deep linear networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import sqrtm

from leadline.landscape.deep_linear import whiten
from leadline.regularisation import BatchWhitening, fit_whitening, inverse_square_root, newton_schulz

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4)) @ RNG.normal(size=(4, 4)) + 3.0


@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky"])
def test_the_covariance_is_the_identity_and_with_epsilon_less(kind):
    white = fit_whitening(X, kind)(X)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(4), atol=1e-9)
    damped = fit_whitening(X, kind, epsilon=0.5)(X)
    own = np.linalg.eigvalsh(np.cov(X.T, bias=True))
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(damped.T, bias=True)), np.sort(own / (own + 0.5)), atol=1e-9)


def test_zca_is_the_symmetric_root_and_pca_that_of_deep_linear_networks():
    root = np.linalg.inv(sqrtm(np.cov(X.T, bias=True)).real)
    np.testing.assert_allclose(fit_whitening(X, "zca").transform, root, atol=1e-8)
    np.testing.assert_allclose(fit_whitening(X, "pca")(X).T, whiten(X.T, per_sample=True)(X.T), atol=1e-10)


def test_a_column_that_others_give_is_dropped_and_refused_by_cholesky():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = fit_whitening(flat, "pca")
    assert found.rank == 4
    assert found.transform.shape == (4, 5)
    with pytest.raises(ValueError, match="rank 4 in 5 dimensions"):
        fit_whitening(flat, "cholesky")
    with pytest.raises(ValueError, match="epsilon = -1"):
        fit_whitening(X, epsilon=-1.0)


def test_both_roots_equal_scipys_and_their_derivatives_agree_at_equal_eigenvalues():
    with jax.enable_x64(True):
        matrix = jnp.asarray(np.cov(X.T, bias=True))
        wanted = np.linalg.inv(sqrtm(np.asarray(matrix)).real)
        np.testing.assert_allclose(inverse_square_root(matrix), wanted, atol=1e-9)
        np.testing.assert_allclose(newton_schulz(matrix, 40), wanted, atol=1e-7)
        change = jnp.asarray(RNG.normal(size=(4, 4)))
        change = change + change.T
        for at in (matrix + jnp.eye(4), 2.0 * jnp.eye(4)):
            ours = jax.jvp(inverse_square_root, (at,), (change,))[1]
            differences = (inverse_square_root(at + 1e-5 * change) - inverse_square_root(at - 1e-5 * change)) / 2e-5
            np.testing.assert_allclose(ours, differences, atol=1e-6)


def test_the_layer_refuses_fewer_rows_than_features_without_epsilon():
    with pytest.raises(ValueError, match="3 rows of 4 features"):
        BatchWhitening(epsilon=0.0)(jnp.ones((3, 4)))
    assert bool(jnp.all(jnp.isfinite(BatchWhitening(epsilon=1e-2)(jax.random.normal(jax.random.key(0), (3, 4))))))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: BatchWhitening(epsilon=-1.0), "epsilon = -1"),
        (lambda: BatchWhitening(num_steps=0), "num_steps = 0"),
        (lambda: BatchWhitening(epsilon=0.0)(jnp.ones((9, 4))), "eigenvalue"),
        (lambda: inverse_square_root(jnp.diag(jnp.array([1.0, -1.0]))), "the eigenvalue -1"),
        (lambda: newton_schulz(jnp.zeros((2, 2))), "a matrix of zeros"),
    ],
)
def test_what_has_no_inverse_root_is_told_and_not_nan(call, told):
    with pytest.raises(ValueError, match=told):
        call()
