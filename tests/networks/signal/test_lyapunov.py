import itertools

import numpy as np
import pytest

from leadline.networks.signal.lyapunov import gaussian_product_exponents, log_growth, log_singular_values


def test_one_dimension_gives_the_mean_logarithm_of_a_normal_variable():
    # E log|Z| = -(γ + log 2)/2
    assert gaussian_product_exponents(1)[0] == pytest.approx(-(np.euler_gamma + np.log(2)) / 2)


def test_published_exponents_of_size_16():
    np.testing.assert_allclose(gaussian_product_exponents(16)[[0, -1]], [-0.0319, -2.0215], atol=5e-5)
    assert np.all(np.diff(gaussian_product_exponents(16)) < 0)


def test_accumulated_logarithms_are_those_of_the_products_own_decomposition():
    factors = np.random.default_rng(0).standard_normal((5, 4, 4))
    product = np.linalg.multi_dot(factors[::-1])
    direct = np.log(np.abs(np.diagonal(np.linalg.qr(product)[1])))
    np.testing.assert_allclose(log_growth(factors).sum(axis=0), direct, rtol=1e-9)


def test_a_long_product_of_one_matrix_has_the_logarithms_of_its_eigenvalues_as_exponents():
    matrix = np.array([[2.0, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.01]])
    exponents = log_growth([matrix] * 400)[100:].mean(axis=0)
    np.testing.assert_allclose(exponents, np.log([2.0, 0.5, 0.01]), rtol=1e-6)


def test_a_singular_factor_gives_minus_infinity():
    assert log_growth([np.zeros((2, 2))]).tolist() == [[-np.inf, -np.inf]]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="square"):
        log_growth([np.ones((2, 3))])
    with pytest.raises(ValueError, match="no factors"):
        log_growth([])
    with pytest.raises(ValueError, match="at least 1"):
        gaussian_product_exponents(0)


def test_few_columns_follow_the_largest_exponents_and_factors_may_be_functions():
    matrix = np.diag([2.0, 0.5, 0.1]) + np.triu(np.ones((3, 3)), 1)
    start = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 2)))[0]
    found = log_growth([lambda basis: matrix @ basis] * 300, start=start)[100:].mean(axis=0)
    np.testing.assert_allclose(found, np.log([2.0, 0.5]), atol=1e-6)
    with pytest.raises(ValueError, match="no start"):
        log_growth([lambda basis: basis])


def test_logarithms_of_singular_values_are_those_of_the_product():
    factors = np.random.default_rng(1).standard_normal((4, 5, 5))
    direct = np.log(np.linalg.svd(np.linalg.multi_dot(factors[::-1]), compute_uv=False))
    np.testing.assert_allclose(log_singular_values(factors), direct, atol=1e-8)


def test_singular_values_far_apart_keep_their_digits():
    rng = np.random.default_rng(2)
    turns = np.linalg.qr(rng.standard_normal((41, 3, 3)))[0]
    scales = np.diag([1e3, 1.0, 1e-3])
    # Q_{k+1} S Q_k^T: the product has the singular values of S to the power of the number of factors
    factors = [after @ scales @ before.T for before, after in itertools.pairwise(turns)]
    np.testing.assert_allclose(log_singular_values(factors) / np.log(10), [120.0, 0.0, -120.0], atol=1e-6)
    with pytest.raises(ValueError, match="no factors"):
        log_singular_values([])
