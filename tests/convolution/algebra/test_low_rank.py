import numpy as np
import pytest

from leadline.convolution import convolve, convolve_separable, kernel_rank, separable_factors, separable_sum

RNG = np.random.default_rng(0)


def test_the_kept_terms_are_the_best():
    kernel = RNG.normal(size=(5, 7))
    values = np.linalg.svd(kernel, compute_uv=False)
    for terms in range(1, 6):
        found = separable_sum(kernel, terms)
        assert np.linalg.norm(kernel - found.kernel) == pytest.approx(np.sqrt((values[terms:] ** 2).sum()), abs=1e-13)
        assert found.dropped == pytest.approx(np.linalg.norm(kernel - found.kernel), abs=1e-13)


@pytest.mark.parametrize("mode", ["full", "same", "valid", "circular"])
def test_two_passes_are_one(mode):
    image, columns, rows = RNG.integers(-9, 10, (8, 7)), RNG.integers(-3, 4, (2, 3)), RNG.integers(-3, 4, (2, 4))
    expected = convolve(image, columns.T @ rows, mode)
    np.testing.assert_array_equal(convolve_separable(image, columns, rows, mode), expected)


def test_factors_give_the_kernel_back_and_rank_two_is_refused():
    kernel = np.outer(RNG.normal(size=4), RNG.normal(size=3))
    np.testing.assert_allclose(np.outer(*separable_factors(kernel)), kernel, atol=1e-14)
    assert kernel_rank(kernel) == 1
    with pytest.raises(ValueError, match="rank 2"):
        separable_factors(np.eye(2))
    with pytest.raises(ValueError, match="1 to 2"):
        separable_sum(np.eye(2), 3)


def test_a_kernel_of_zeros_has_rank_zero():
    assert kernel_rank(np.zeros((3, 3))) == 0
