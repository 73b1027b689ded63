import numpy as np

from leadline.curvature import gauss_newton_matrix, softmax_fisher
from leadline.curvature.operators.dense_gauss_newton import empirical_fisher_matrix


def test_softmax_regression_has_hessian_gauss_newton_and_fisher_equal():
    rng = np.random.default_rng(0)
    x, labels, w = rng.normal(size=(9, 2)), np.eye(3)[rng.integers(0, 3, 9)], rng.normal(size=6)

    def softmax(w):
        e = np.exp(x @ w.reshape(2, 3))
        return e / e.sum(1, keepdims=True)

    def gradient(w):
        return (x.T @ (softmax(w) - labels) / 9).ravel()

    hessian = np.array([gradient(w + d) - gradient(w - d) for d in 1e-5 * np.eye(6)]) / 2e-5
    s = softmax(w)
    jacobians = np.einsum("nd,ck->nkdc", x, np.eye(3)).reshape(9, 3, 6)  # the outputs are linear in w
    curvature = s[:, :, None] * np.eye(3) - s[:, :, None] * s[:, None, :]
    np.testing.assert_allclose(gauss_newton_matrix(jacobians, curvature), hessian, atol=1e-9)
    np.testing.assert_allclose(softmax_fisher(jacobians, s), hessian, atol=1e-9)


def test_empirical_fisher_is_the_mean_outer_product():
    g = np.random.default_rng(1).normal(size=(6, 3))
    np.testing.assert_allclose(empirical_fisher_matrix(g), sum(np.outer(v, v) for v in g) / 6)
