import jax
import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from leadline import kernels

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
KERNEL = kernels.Gaussian(1.0)
G = KERNEL(X, X)
KEY = jax.random.key(0)


def approximation(indices):
    z = kernels.nystrom(KERNEL, X[indices])(X)
    return z @ z.T


def test_it_is_scikit_learns():
    reference = Nystroem(kernel="rbf", gamma=0.5, n_components=12, random_state=0).fit(X)
    z = reference.transform(X)
    np.testing.assert_allclose(approximation(reference.component_indices_), z @ z.T, atol=1e-8)


def test_it_is_exact_on_the_landmarks_and_with_all_of_them_and_below_the_matrix():
    chosen = kernels.uniform_landmarks(40, 10, key=KEY)
    rough = approximation(chosen)
    np.testing.assert_allclose(rough[chosen], G[chosen], atol=1e-8)
    assert np.linalg.eigvalsh(G - rough)[0] > -1e-8
    np.testing.assert_allclose(approximation(np.arange(40)), G, atol=1e-8)


def test_repeated_landmarks_are_no_trouble():
    np.testing.assert_allclose(approximation(np.array([3, 3, 5])), approximation(np.array([3, 5])), atol=1e-8)


def test_greedy_landmarks_are_the_pivots_of_lapack():
    from scipy.linalg.lapack import dpstrf

    _, pivots, _, _ = dpstrf(G)
    assert kernels.greedy_landmarks(KERNEL, X, 15)[1:].tolist() == (pivots[1:15] - 1).tolist()


def test_leverage_is_the_diagonal_of_the_smoother():
    smoother = G @ np.linalg.inv(G + 0.1 * np.eye(40))
    np.testing.assert_allclose(kernels.ridge_leverage(G, 0.1), np.diag(smoother), atol=1e-10)
    drawn = kernels.leverage_landmarks(kernels.ridge_leverage(G, 0.1), 20, key=KEY)
    assert len(set(drawn.tolist())) == 20


def test_the_best_rank_errors_are_those_of_the_truncated_decomposition():
    values, vectors = np.linalg.eigh(G)
    for rank in (0, 3, 40):
        best = (vectors[:, 40 - rank :] * values[40 - rank :]) @ vectors[:, 40 - rank :].T
        error = np.linalg.norm(G - best) / np.linalg.norm(G)
        assert kernels.best_rank_errors(values, np.array([rank]))[0] == pytest.approx(error, abs=1e-12)


def test_bad_input_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="41 landmarks"):
        kernels.uniform_landmarks(40, 41, key=KEY)
    with pytest.raises(ValueError, match="no landmarks"):
        kernels.nystrom(KERNEL, X[:0])
    with pytest.raises(ValueError, match="above 0"):
        kernels.ridge_leverage(G, 0.0)
