"""The geometry of a kernel's space against explicit features and integrals."""

import numpy as np
import pytest

from leadline import kernels


def test_the_geometry_is_that_of_the_feature_vectors():
    rng = np.random.default_rng(0)
    x, z, alpha, beta = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=4), rng.normal(size=5)
    f, g = x.T @ alpha, z.T @ beta
    found = kernels.function_geometry(kernels.Linear(), x, alpha, z, beta)
    assert found.inner == pytest.approx(f @ g)
    assert found.norms == pytest.approx((np.linalg.norm(f), np.linalg.norm(g)))
    assert found.distance == pytest.approx(np.linalg.norm(f - g))
    assert np.cos(found.angle) == pytest.approx(f @ g / np.linalg.norm(f) / np.linalg.norm(g))
    assert np.isnan(kernels.function_geometry(kernels.Linear(), x, 0 * alpha, z, beta).angle)


def test_interpolant_norms_on_the_grid_of_the_minimum_kernel():
    grids = [np.arange(1, n + 1)[:, None] / n for n in (10, 40)]
    found = kernels.interpolant_norms(kernels.Minimum(), lambda x: np.sqrt(x[:, 0]), grids)
    exact = [n * np.sum(np.diff(np.sqrt(np.arange(n + 1) / n)) ** 2) for n in (10, 40)]
    np.testing.assert_allclose(found.squared, exact, rtol=1e-10)
    assert found.sizes == [10, 40]
    assert found.dropped == [0, 0]


def test_a_singular_gram_matrix_gives_the_norm_of_what_it_sees():
    x = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    found = kernels.interpolant_norms(kernels.Linear(), lambda x: 5 * x[:, 0], [x])
    assert found.squared[0] == pytest.approx(25.0)
    assert found.dropped == [2]


def test_bad_input():
    with pytest.raises(ValueError, match="one coefficient per point"):
        kernels.rkhs_inner(kernels.Linear(), np.eye(2), np.ones(2), np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="one each"):
        kernels.interpolant_norms(kernels.Linear(), lambda x: x, [np.eye(2)])
