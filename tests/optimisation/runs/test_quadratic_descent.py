import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from leadline.optimisation import steepest_path
from leadline.optimisation.runs.quadratic_descent import kantorovich_factor


def test_each_step_is_the_exact_minimum_along_the_gradient():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    a = root @ root.T + np.eye(4)
    path = steepest_path(a, rng.normal(size=4), 3)
    for w, after in itertools.pairwise(path):
        g = a @ w
        eta = minimize_scalar(lambda e, w=w, g=g: (w - e * g) @ a @ (w - e * g)).x
        np.testing.assert_allclose(after, w - eta * g, rtol=1e-6, atol=1e-8)


def test_the_worst_start_meets_kantorovichs_factor_and_zero_stays():
    a = np.diag([1.0, 100.0])
    path = steepest_path(a, np.array([100.0, 1.0]), 5)
    gap = np.einsum("ti,ij,tj->t", path, a, path)
    np.testing.assert_allclose(gap[1:] / gap[:-1], 0.960788, atol=1e-6)
    assert kantorovich_factor(100.0) == pytest.approx(0.960788, abs=1e-6)
    assert np.all(steepest_path(a, np.zeros((2, 2)), 2) == 0)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="positive definite"):
        steepest_path(np.diag([1.0, -1.0]), np.ones(2), 1)
    with pytest.raises(ValueError, match="at least 1"):
        kantorovich_factor(0.5)
