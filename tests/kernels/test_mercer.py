"""Mercer expansions against the closed form of the minimum kernel and against quadrature."""

import numpy as np
import pytest

from leadline import kernels
from leadline.kernels.mercer import brownian_eigenfunctions, brownian_eigenvalues, gram_features


def test_the_eigenpairs_of_the_minimum_kernel():
    nodes = (np.arange(400)[:, None] + 0.5) / 400
    found = kernels.mercer_expansion(kernels.Minimum(), nodes, terms=6)
    np.testing.assert_allclose(found.eigenvalues, brownian_eigenvalues(6), rtol=1e-3)
    x = np.array([[0.113], [0.5], [0.98]])
    exact = brownian_eigenfunctions(x[:, 0], 6)
    signs = np.sign(np.sum(found.eigenfunctions(x) * exact, axis=0))
    np.testing.assert_allclose(found.eigenfunctions(x) * signs, exact, atol=5e-3)


def test_weights_are_a_quadrature_rule():
    nodes, weights = np.polynomial.legendre.leggauss(30)
    found = kernels.mercer_expansion(kernels.Gaussian(1.0), nodes[:, None], weights, terms=8)
    fine = (np.arange(1000)[:, None] + 0.5) / 500 - 1
    reference = kernels.mercer_expansion(kernels.Gaussian(1.0), fine, np.full(1000, 1 / 500), terms=8)
    np.testing.assert_allclose(found.eigenvalues[:4], reference.eigenvalues[:4], rtol=1e-4)
    x = np.array([[0.3], [-0.7]])
    np.testing.assert_allclose(found.truncated(x, x, 8), kernels.Gaussian(1.0)(x, x), atol=1e-5)


def test_features_of_a_gram_matrix():
    x = np.random.default_rng(0).normal(size=(12, 3))
    features = gram_features(kernels.Linear()(x, x))
    assert features.shape == (12, 3)
    np.testing.assert_allclose(features @ features.T, x @ x.T, atol=1e-12)
    with pytest.raises(ValueError, match=r"Eigenvalue 1 of 2 .* is -1, "):
        gram_features(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_bad_input():
    with pytest.raises(ValueError, match="above 0"):
        kernels.mercer_expansion(kernels.Minimum(), np.ones((2, 1)), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="1 to 2"):
        kernels.mercer_expansion(kernels.Minimum(), np.ones((2, 1)), terms=3)
