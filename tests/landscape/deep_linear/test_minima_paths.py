"""Paths between weights: endpoints, losses along them, determinants, and what cannot be joined."""

import jax
import numpy as np
import pytest
from scipy.stats import special_ortho_group

from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.minima_paths import (
    crossing_path,
    linear_group_path,
    minima_path,
    scalar_descent_path,
    spare_unit_path,
)


@pytest.fixture
def problem():
    return deep_linear.random_problem(5, 4, 30, key=jax.random.key(2), spectrum=(4.0, 3.0, 2.0, 1.0))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_path_in_the_linear_group_joins_and_stays_invertible(size):
    rng = np.random.default_rng(size)
    for _ in range(5):
        matrix = rng.normal(size=(size, size))
        matrix[0] *= np.sign(np.linalg.det(matrix))
        path = linear_group_path(matrix, np.linspace(0, 1, 21))
        np.testing.assert_allclose(path[0], np.eye(size), atol=1e-10)
        np.testing.assert_allclose(path[-1], matrix, atol=1e-9)
        np.testing.assert_allclose(np.linalg.det(path), np.linalg.det(matrix) ** np.linspace(0, 1, 21), rtol=1e-8)
    turn = special_ortho_group(4, seed=0).rvs() if size == 5 else np.eye(4)
    half = turn @ np.diag([-1.0, -1, -1, -1]) @ turn.T
    np.testing.assert_allclose(linear_group_path(half, np.array([1.0]))[0], half, atol=1e-9)
    with pytest.raises(ValueError, match="positive determinant"):
        linear_group_path(-np.eye(3), np.array([0.0]))


def test_minima_of_one_component_are_joined_at_the_minimum(problem):
    best = deep_linear.atlas(problem, 2)[0]
    rng = np.random.default_rng(0)
    first, last = rng.normal(size=(2, 2, 2))
    first[0] *= np.sign(np.linalg.det(first))
    last[0] *= np.sign(np.linalg.det(last))
    start, end = best.factors(first), best.factors(last)
    path = minima_path(problem, start, end)
    np.testing.assert_allclose(path.losses(problem), best.level, rtol=1e-10)
    np.testing.assert_allclose(path.a[-1], end[0], atol=1e-9)
    np.testing.assert_allclose(path.b[0], start[1], atol=1e-9)
    other = best.factors(last * np.array([[-1.0], [1.0]]))
    with pytest.raises(ValueError, match="different components"):
        minima_path(problem, start, other)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_crossing_reaches_the_next_critical_level(problem, p):
    families = deep_linear.atlas(problem, p)
    a, b = families[0].factors()
    path = crossing_path(problem, a, b)
    losses = path.losses(problem)
    assert losses.max() == pytest.approx(families[1].level, rel=1e-10)
    assert losses[[0, -1]] == pytest.approx(families[0].level, rel=1e-10)
    top = problem.eigenvectors[:, :p]
    assert np.linalg.det(top.T @ path.a[0]) * np.linalg.det(top.T @ path.a[-1]) < 0


@pytest.mark.parametrize("p", [5, 6])
def test_a_spare_unit_joins_all_minima(problem, p):
    rng = np.random.default_rng(p)
    for _ in range(4):
        ends = []
        for _ in range(2):
            a = rng.normal(size=(4, p))
            spare = np.linalg.svd(a)[2][4:]
            ends.append((a, np.linalg.pinv(a) @ problem.best_map + spare.T @ rng.normal(size=(p - 4, 5))))
        path = spare_unit_path(problem, *ends)
        np.testing.assert_allclose(path.losses(problem), problem.loss(problem.best_map), rtol=1e-9)
        for got, want in zip((path.a[0], path.b[0], path.a[-1], path.b[-1]), (*ends[0], *ends[1]), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-8)
        assert np.abs(np.diff(path.a, axis=0)).max() < 0.5
    with pytest.raises(ValueError, match="p > 4"):
        spare_unit_path(problem, (np.eye(4), problem.best_map), (np.eye(4), problem.best_map))


def test_one_output_leads_down_from_anywhere():
    problem = deep_linear.random_problem(3, 1, 20, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    for p, a in ((2, rng.normal(size=(1, 2))), (4, rng.normal(size=(1, 4))), (2, np.zeros((1, 2)))):
        b = rng.normal(size=(p, 3))
        path = scalar_descent_path(problem, a, b)
        losses = path.losses(problem)
        assert np.diff(losses).max() < 1e-12 * losses[0]
        assert np.array_equal(path.a[0], a)
        assert np.array_equal(path.b[0], b)
        np.testing.assert_array_equal(path.a[-1], np.eye(1, p))
        np.testing.assert_allclose(path.b[-1], np.eye(p, 1) * problem.best_map)
        assert max(np.abs(np.diff(part, axis=0)).max() for part in path) < 0.3
    with pytest.raises(ValueError, match="2 units"):
        scalar_descent_path(problem, np.ones((1, 1)), np.ones((1, 3)))
