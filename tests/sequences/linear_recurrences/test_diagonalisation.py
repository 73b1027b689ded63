"""Modes of matrices, near and far from defective ones."""

import numpy as np
import pytest

from leadline.sequences import diagonalise, perturbed_jordan_block


def test_modes_put_together_are_the_matrix():
    a = np.random.default_rng(0).normal(size=(5, 5))
    modes = diagonalise(a)
    np.testing.assert_allclose(modes.basis @ np.diag(modes.eigenvalues) @ modes.inputs, a, atol=1e-12)
    assert modes.gap > 0


@pytest.mark.parametrize(("size", "corner", "condition"), [(4, 1e-8, 1e6), (8, 1e-4, 3162.27766)])
def test_a_perturbed_jordan_block_has_the_condition_of_the_formula(size, corner, condition):
    modes = diagonalise(perturbed_jordan_block(size, corner))
    assert modes.condition == pytest.approx(condition, rel=1e-6)
    np.testing.assert_allclose(np.abs(modes.eigenvalues), corner ** (1 / size), rtol=1e-6)


def test_a_defective_matrix_is_refused():
    with pytest.raises(ValueError, match="no basis of eigenvectors"):
        diagonalise(perturbed_jordan_block(3, 0.0))
    with pytest.raises(ValueError, match="2 or more"):
        perturbed_jordan_block(1, 0.1)
