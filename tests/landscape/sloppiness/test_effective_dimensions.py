"""Effective dimensions against the hat matrix of ridge regression."""

import numpy as np
import pytest

from leadline.landscape import sloppiness


def test_effective_dimension_is_the_trace_of_the_hat_matrix():
    design, penalty = np.random.default_rng(0).normal(size=(9, 4)), 0.3
    hat = design @ np.linalg.solve(design.T @ design + 9 * penalty * np.eye(4), design.T)
    values = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(design))
    assert sloppiness.effective_dimension(values, penalty) == pytest.approx(np.trace(hat), rel=1e-12)


def test_counts_at_several_thresholds_and_the_limits_of_the_smooth_count():
    values = np.array([4.0, 1.0, 0.25, 0.0])
    np.testing.assert_array_equal(sloppiness.stiff_count(values, np.array([0.0, 0.25, 5.0])), [3, 2, 0])
    np.testing.assert_allclose(sloppiness.effective_dimension(values, np.array([1e-12, 1e12])), [3, 0], atol=1e-10)


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="positive"):
        sloppiness.effective_dimension(np.ones(2), 0.0)
    with pytest.raises(ValueError, match="semidefinite"):
        sloppiness.effective_dimension(np.array([1.0, -1.0]), 1.0)
    with pytest.raises(ValueError, match="deviation"):
        sloppiness.prior_scale(3, 0.0)
