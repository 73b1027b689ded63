import numpy as np
import pytest
from scipy.linalg import null_space, orth

from leadline.landscape.deep_linear import oblique_projector, orthogonal_projector

RNG = np.random.default_rng(0)
M, N = RNG.normal(size=(2, 6, 3))


def test_the_orthogonal_projector_is_that_of_scipys_orthonormal_basis():
    basis = orth(M)
    np.testing.assert_allclose(orthogonal_projector(M), basis @ basis.T, atol=1e-13)


def test_columns_stay_and_their_complement_vanishes():
    p = oblique_projector(M, N)
    np.testing.assert_allclose(p @ M, M, atol=1e-12)
    np.testing.assert_allclose(p @ null_space(N.T), 0, atol=1e-12)


def test_along_the_own_complement_both_are_one():
    np.testing.assert_allclose(oblique_projector(M, M), orthogonal_projector(M), atol=1e-12)


@pytest.mark.parametrize(
    "matrix", [np.ones((3, 2)), np.ones((2, 3)), np.array([[np.nan], [1.0]]), np.array([[np.inf], [1.0]])]
)
def test_dependent_or_infinite_columns_are_refused(matrix):
    with pytest.raises(ValueError, match="orthogonal_projector got"):
        orthogonal_projector(matrix)


def test_a_direction_within_the_columns_is_refused():
    with pytest.raises(ValueError, match="complement"):
        oblique_projector(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))
