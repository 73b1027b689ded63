"""The atlas against brute force: every family of several small problems, gradient, Hessian, counts and order."""

from itertools import combinations

import jax
import numpy as np
import pytest
from scipy.stats import ortho_group

from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.critical_atlas import atlas_columns, critical_family, nearest_family

SHAPES = [(4, 4, 2), (6, 4, 2), (5, 3, 2), (4, 4, 3), (3, 3, 5), (4, 2, 1)]


def small(d_x, d_y):
    return deep_linear.random_problem(d_x, d_y, 30, key=jax.random.key(d_x), spectrum=1.5 ** -np.arange(d_y), noise=0.5)


@pytest.mark.parametrize(("d_x", "d_y", "p"), SHAPES)
def test_every_family_is_critical_with_the_inertia_of_the_formula(d_x, d_y, p):
    problem = small(d_x, d_y)
    families = deep_linear.atlas(problem, p)
    assert len(families) == deep_linear.count_families(d_y, p) == len({f.indices for f in families})
    assert (np.diff([f.level for f in families]) >= 0).all()
    for family in families:
        size = len(family.indices)
        mixing = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0] if size else np.eye(0)
        a, b = family.factors(mixing)
        assert max(np.abs(g).max(initial=0) for g in problem.factor_gradient(a, b)) < 1e-12
        assert problem.loss(a @ b) == pytest.approx(family.level, rel=1e-12)
        np.testing.assert_allclose(a @ b, family.product, atol=1e-12)
        negative, null, _ = deep_linear.hessian_inertia(problem.factor_hessian(a, b))
        assert (negative, null) == (family.index, family.nullity)
        assert (family.escape is None) == (family.index == 0)


def test_the_published_indices():
    problem = small(4, 4)
    index = {f.indices: f.index for f in deep_linear.atlas(problem, 2)}
    assert index[()] == 8
    assert [index[(i,)] for i in range(4)] == [3, 4, 5, 6]
    assert [index[pair] for pair in combinations(range(4), 2)] == [0, 1, 2, 2, 3, 4]


def test_inertia_where_sigma_has_a_null_space():
    problem = deep_linear.random_problem(4, 4, 30, key=jax.random.key(1), spectrum=(3.0, 1.0, 0.0, 0.0))
    wide = deep_linear.LinearProblem(problem.x[:2], problem.y)  # more outputs than inputs
    for case, p in ((problem, 2), (problem, 3), (wide, 1), (wide, 2)):
        for family in deep_linear.atlas(case, p):
            negative, null, _ = deep_linear.hessian_inertia(case.factor_hessian(*family.factors()), 1e-8)
            assert (negative, null) == (family.index, family.nullity)


def test_the_loss_along_the_escape_is_its_formula():
    problem = small(5, 4)
    n, values = problem.samples, problem.eigenvalues
    for family in deep_linear.atlas(problem, 2)[1:]:
        i, j, curvature = family.escape
        for t in (0.1, 0.7):
            found = problem.loss(np.matmul(*family.escape_curve(t))) - family.level
            fall = values[j] * (2 * t**2 - t**4) if i is None else (values[j] - values[i]) * np.sin(t) ** 2
            assert found == pytest.approx(-fall / (2 * n), rel=1e-9)
        h = 1e-3
        second = (problem.loss(np.matmul(*family.escape_curve(h))) - family.level) * 2 / h**2
        assert second == pytest.approx(curvature, rel=1e-4)


def test_the_lowest_families_are_found_without_listing_all():
    values = np.sort(np.random.default_rng(0).uniform(1, 2, size=9))[::-1]
    problem = deep_linear.random_problem(9, 9, 40, key=jax.random.key(0), spectrum=values)
    every = [c for r in range(5) for c in combinations(range(9), r)]
    by_hand = sorted(every, key=lambda c: -values[list(c)].sum())
    assert [f.indices for f in deep_linear.atlas(problem, 4)] == by_hand
    assert [f.indices for f in deep_linear.atlas(problem, 4, most=17)] == by_hand[:17]
    digits = deep_linear.digits_autoencoder()
    lowest = deep_linear.atlas(digits, 30, most=3)  # of about 2^60 families
    assert lowest[0].indices == tuple(range(30))
    assert [f.index for f in lowest] == [0, 1, 2]
    with pytest.raises(ValueError, match="most=50"):
        deep_linear.atlas(digits, 30)


def test_columns_and_nearest_family():
    problem = small(4, 3)
    families = deep_linear.atlas(problem, 2)
    columns = atlas_columns(families)
    assert columns["set"][0] == "1 2"
    assert columns["set"][-1] == "∅"
    assert columns["escape"][0] == "none: global minimum"
    assert columns["escape"][-1] == "a zero unit → u1"
    for family in families:
        found, distance = nearest_family(families, family.product * (1 + 1e-9))
        assert found is family
        assert distance < 1e-7
    assert critical_family(problem, 2, [2, 0]).index == 1


def test_a_search_from_random_starts_finds_listed_products_only():
    problem = small(4, 3)
    families = deep_linear.atlas(problem, 2)
    rng, found = np.random.default_rng(0), set()
    for _ in range(8):
        point = deep_linear.refine_critical(problem, rng.normal(size=(3, 2)), rng.normal(size=(2, 4)))
        if point.gradient_norm < 1e-11:
            family, distance = nearest_family(families, point.a @ point.b)
            assert distance < 1e-6
            found.add(family.indices)
    assert len(found) > 2


def test_the_inertia_of_a_rotated_diagonal():
    turn = ortho_group(5, seed=0).rvs()
    matrix = turn @ np.diag([-2.0, -1e-3, 0, 0, 3.0]) @ turn.T
    assert deep_linear.hessian_inertia((matrix + matrix.T) / 2) == (2, 2, 1)


def test_bad_input_is_said():
    problem = small(4, 3)
    with pytest.raises(ValueError, match="at least 1"):
        deep_linear.atlas(problem, 0)
    with pytest.raises(ValueError, match="no family"):
        critical_family(problem, 2, [0, 1, 2])
    with pytest.raises(ValueError, match="global minimum"):
        deep_linear.atlas(problem, 2)[0].escape_curve(0.1)
    with pytest.raises(ValueError, match="negative"):
        deep_linear.count_families(-1, 2)
    with pytest.raises(ValueError, match="no families"):
        nearest_family([], np.zeros((3, 4)))
