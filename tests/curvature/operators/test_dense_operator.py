"""Operators held as matrices, their differences, curvature by rows, and outlying eigenvalues, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import curvature
from leadline.curvature.operators.dense_operator import dense_if_small
from leadline.curvature.operators.row_curvatures import curvatures_by_row


def test_small_operators_held_as_matrices_have_the_spectrum_of_the_matrix():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    A, B = root @ root.T, np.diag(np.arange(12.0))
    first, second = curvature.DenseOperator(jnp.asarray(A)), curvature.DenseOperator(jnp.asarray(B))
    np.testing.assert_allclose(first.top(3).values, np.linalg.eigvalsh(A)[::-1][:3])
    np.testing.assert_allclose(first.trace(key=jax.random.key(0)).value, np.trace(A))
    apart = curvature.OperatorDifference(first, second)
    np.testing.assert_allclose(apart(jnp.ones(12)), (A - B) @ np.ones(12))
    np.testing.assert_allclose(curvature.top(apart, 1).values[0], np.linalg.eigvalsh(A - B)[-1])
    assert dense_if_small(first, most=5) is first


def test_curvatures_by_row_are_second_derivatives_along_the_direction():
    rng = np.random.default_rng(1)
    x, v, w = rng.normal(size=(6, 3)), rng.normal(size=3), rng.normal(size=3)
    found = curvatures_by_row(lambda w, x: jnp.sin(x @ w), jnp.asarray(w), v, x)
    np.testing.assert_allclose(found, -np.sin(x @ w) * (x @ v) ** 2, rtol=1e-10)
    with pytest.raises(ValueError, match="length 3"):
        curvatures_by_row(lambda w, x: x @ w, jnp.asarray(w), np.ones(2), x)


def test_outliers_end_at_the_widest_gap_above_a_thousandth():
    assert curvature.count_outliers(np.array([5.0, 4.0, 1.0, 0.9])) == 2
    assert curvature.count_outliers(np.array([5.0, 1.0, 1e-9, 1e-20])) == 2
    assert curvature.count_outliers(np.array([-1.0, -2.0])) == 0
    assert curvature.count_outliers(np.array([3.0])) == 1
    with pytest.raises(ValueError, match="descending"):
        curvature.count_outliers(np.array([1.0, 2.0]))
