"""Least-norm fits and the tangent span against NumPy's pseudo-inverse and null spaces."""

import numpy as np
import pytest

from leadline.tangent import tangent_fit
from leadline.tangent.least_squares import off_span

rng = np.random.default_rng(2)
J, R = rng.standard_normal((4, 9)), rng.standard_normal(4)


@pytest.mark.parametrize("dual", [True, False])
@pytest.mark.parametrize("shape", [(4, 9), (9, 4)])
def test_it_is_the_pseudo_inverse_solution(dual, shape):
    matrix, r = J.reshape(shape), rng.standard_normal(shape[0])
    fit = tangent_fit(matrix, r, dual=dual)
    beta = np.linalg.pinv(matrix) @ r
    np.testing.assert_allclose(fit.beta, beta, atol=1e-10)
    assert fit.squared_norm == pytest.approx(beta @ beta)
    assert fit.rank == 4
    np.testing.assert_allclose(fit.unreached, r - matrix @ beta, atol=1e-10)


def test_a_repeated_row_lowers_the_rank_and_splits_the_labels():
    fit = tangent_fit(np.concatenate([J, J[:1]]), np.append(R, R[0] + 2))
    assert fit.rank == 4
    np.testing.assert_allclose(fit.unreached, [-1, 0, 0, 0, 1], atol=1e-9)


def test_the_part_outside_the_span_changes_no_output_and_is_orthogonal_to_it():
    beta = rng.standard_normal((3, 9))
    outside = off_span(J, beta)
    np.testing.assert_allclose(outside @ J.T, 0, atol=1e-13)
    np.testing.assert_allclose(np.sum(outside * (beta - outside), axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(off_span(J, J.T @ R), 0, atol=1e-13)


def test_shapes_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="do not match"):
        tangent_fit(J, R[:3])
    with pytest.raises(ValueError, match="length P"):
        off_span(J, R)
