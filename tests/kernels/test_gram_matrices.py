import numpy as np
import pytest

from leadline import kernels
from leadline.kernels.gram.gram_cost import require_gram
from leadline.kernels.validity.positivity import check_positive, least_jitter, shifted_kernel

RNG = np.random.default_rng(0)
INDEFINITE = np.array([[1.0, 1.0], [1.0, 0.0]])


def test_a_matrix_that_is_no_gram_matrix_is_refused_with_the_eigenvalue_and_the_ways_out():
    with pytest.raises(ValueError, match=r"least is -0\.618034.*nearest_kernel.*shifted_kernel"):
        check_positive(INDEFINITE)


def test_asymmetry_and_non_finite_entries_are_named():
    with pytest.raises(ValueError, match=r"entries \(0, 1\) and \(1, 0\)"):
        kernels.spectrum(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="not finite"):
        kernels.spectrum(np.array([[1.0, np.nan], [np.nan, 1.0]]))


def test_the_nearest_kernel_is_nearer_than_other_repairs():
    matrix = RNG.standard_normal((6, 6))
    matrix = matrix + matrix.T
    nearest = kernels.nearest_kernel(matrix)
    distance = np.linalg.norm(nearest - matrix)
    negative = np.minimum(np.linalg.eigvalsh(matrix), 0.0)
    assert distance == pytest.approx(np.linalg.norm(negative))
    assert distance < np.linalg.norm(shifted_kernel(matrix) - matrix)
    for repaired in (nearest, shifted_kernel(matrix)):
        assert check_positive(repaired).is_positive
    assert np.array_equal(shifted_kernel(np.eye(2)), np.eye(2))


def test_centring_is_that_of_the_features():
    features = RNG.standard_normal((5, 3))
    centred = features - features.mean(axis=0)
    np.testing.assert_allclose(kernels.centre_gram(features @ features.T), centred @ centred.T, atol=1e-12)


def test_the_jitter_lets_cholesky_succeed():
    x = np.repeat(RNG.standard_normal((3, 2)), 2, axis=0)
    gram = kernels.Gaussian(1.0)(x, x)
    jitter = least_jitter(gram)
    assert 0 < jitter < 1e-12
    np.linalg.cholesky(gram + jitter * np.eye(6))


def test_predicted_bytes_are_those_of_the_arrays():
    for n, dtype in ((10, np.float64), (33, np.float32)):
        cost = kernels.gram_cost_of(n, 4, dtype=dtype)
        assert cost.whole_bytes == np.zeros((n, n), dtype).nbytes
        assert cost.half_bytes == np.zeros(n, dtype)[np.triu_indices(n)[0]].nbytes


def test_what_does_not_fit_is_refused_with_a_rank_that_does():
    plan = kernels.choose_method(10**6, 10, 2**33)
    assert plan.method == "features"
    assert plan.bytes <= 2**33 < plan.bytes + 8 * 10**6
    with pytest.raises(MemoryError, match=r"8 TB.*1073 random features"):
        require_gram(10**6, 2**33)
    with pytest.raises(MemoryError, match="even with one feature"):
        kernels.choose_method(10**6, 10, 100)
