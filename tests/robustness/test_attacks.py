"""Projections, gradient attacks, DeepFool and radii against closed forms, SciPy and brute force."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks, robustness
from leadline.robustness.accuracy_brackets import half_radius
from leadline.robustness.attacks.norm_projections import project
from leadline.robustness.linear_distances import LinearScores, linear_scores, minimal_perturbation

RNG = np.random.default_rng(0)


def linear(params, x):
    return x @ params.weights.T + params.bias


@pytest.fixture(scope="module")
def line():
    return LinearScores(RNG.normal(size=(4, 6)), RNG.normal(size=4))


@pytest.fixture(scope="module")
def points():
    return RNG.normal(size=(12, 6))


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_projection_is_the_nearest_point_that_a_solver_finds(p):
    from scipy.optimize import minimize

    z = np.array([1.5, -0.4, 0.3])
    limit = {"type": "ineq", "fun": lambda u: 1 - np.linalg.norm(u, ord=p)}
    if p == 1:  # smooth constraints: all sign patterns
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        limit = {"type": "ineq", "fun": lambda u: 1 - signs @ u}
    if p == math.inf:
        limit = {"type": "ineq", "fun": lambda u: np.concatenate([1 - u, 1 + u])}
    best = minimize(lambda u: ((u - z) ** 2).sum(), np.zeros(3), constraints=limit, options={"ftol": 1e-14}).x
    np.testing.assert_allclose(project(z, 1.0, p), best, atol=1e-6)


def test_projection_takes_a_radius_for_each_row_and_keeps_inner_points():
    z = RNG.normal(size=(5, 4))
    sizes = np.array([0.1, 0.5, 1.0, 2.0, 100.0])
    for p in (1, 2, math.inf):
        near = project(z, sizes, p)
        assert (robustness.p_norm(near, p) <= sizes * (1 + 1e-12)).all()
        np.testing.assert_array_equal(near[4], z[4])
    traced = jax.jit(lambda z: project(z, sizes, 1))(z)
    np.testing.assert_allclose(traced, project(z, sizes, 1), rtol=1e-6, atol=1e-6)
    assert project(np.array([3.0, -5.0, 1.0]), 2, 0).tolist() == [3.0, -5.0, 0.0]


def test_the_steepest_direction_is_the_dual_maximiser():
    g = RNG.normal(size=(7, 5))
    for p in (1.0, 3.0):
        theirs = jax.jit(lambda g, p=p: networks.dual_maximiser(g, networks.dual_exponent(p)))(g)
        np.testing.assert_allclose(robustness.steepest_direction(g, p), theirs, atol=1e-6)
    assert not robustness.steepest_direction(np.zeros(3), 2.0).any()


def test_random_points_are_uniform_in_the_ball():
    from scipy.stats import kstest

    u = np.asarray(robustness.random_in_ball(jax.random.key(0), (2000, 3), 0.5, 1.0))
    share = (robustness.p_norm(u, 1.0) / 0.5) ** 3  # uniform, as volumes go with the cube
    assert kstest(share, "uniform").pvalue > 1e-3


def test_norms_and_balls_refuse_other_exponents():
    with pytest.raises(ValueError, match="p = 0"):
        robustness.p_norm(np.ones(2), 0.5)
    with pytest.raises(ValueError, match="knows the balls"):
        project(np.ones(2), 1.0, 3)
    with pytest.raises(ValueError, match="from 1 to infinity"):
        robustness.random_in_ball(jax.random.key(0), (2,), 1.0, 0.5)


def test_the_margin_is_the_label_less_the_best_rival():
    scores = RNG.normal(size=(6, 3))
    labels = np.array([0, 1, 2, 0, 1, 2])
    brute = [s[y] - max(np.delete(s, y)) for s, y in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(robustness.runner_up_margin(scores, labels), brute)


def test_linear_distances_agree_with_the_closed_form_for_two_classes():
    two = LinearScores(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([0.5, 0.0]))
    x = np.array([[1.0, 1.0], [-3.0, 0.0]])
    for p, q in ((1, math.inf), (2, 2), (math.inf, 1)):
        expected = np.abs(x @ two.weights[0] + 0.5) / np.linalg.norm(two.weights[0], ord=q)
        np.testing.assert_allclose(robustness.boundary_distances(two, x, p).min(axis=1), expected)
        eta = minimal_perturbation(two, x, p)
        np.testing.assert_allclose(np.linalg.norm(eta, ord=p, axis=1), expected)
        np.testing.assert_allclose((x + eta) @ two.weights[0], -0.5, atol=1e-12)
    target = minimal_perturbation(two, x[:1], 2, target=np.array([1]))
    np.testing.assert_allclose(target, minimal_perturbation(two, x[:1], 2))


def test_a_linear_model_is_recognised_and_a_network_is_not(line, points):
    found = linear_scores(linear, jax.tree.map(jnp.asarray, line), points)
    np.testing.assert_allclose(found.weights, line.weights, rtol=1e-5)
    np.testing.assert_allclose(found.bias, line.bias, rtol=1e-4, atol=1e-5)
    assert linear_scores(lambda p, x: jnp.tanh(linear(p, x)), jax.tree.map(jnp.asarray, line), points) is None


def test_attacks_on_a_linear_model_reach_the_exact_distance(line, points):
    rows = jax.tree.map(jnp.asarray, line)
    labels = line(points).argmax(axis=1)
    exact = robustness.boundary_distances(line, points, 2.0).min(axis=1)
    quick = robustness.deepfool(linear, rows, points)
    np.testing.assert_allclose(quick.on_boundary, exact, rtol=1e-5)
    assert set(np.asarray(quick.steps)) == {1}
    assert np.asarray(quick.fooled).all()
    best = robustness.smallest_radii(linear, rows, points, labels, halvings=5)
    np.testing.assert_allclose(best.radii, exact, rtol=1e-4)
    assert (line(best.inputs).argmax(axis=1) != labels).all()
    assert robustness.radius_curve(best.radii, np.array([0.0, exact.max() * 1.01])).tolist() == [1.0, 0.0]


def test_radii_are_zero_where_the_decision_is_wrong_and_infinite_where_nothing_fools(line, points):
    rows = jax.tree.map(jnp.asarray, line)
    wrong = (line(points).argmax(axis=1) + 1) % 4
    assert not robustness.deepfool_radii(linear, rows, points, wrong).radii.any()
    constant = LinearScores(jnp.zeros((4, 6)), jnp.array([1.0, 0.0, 0.0, 0.0]))
    nothing = robustness.smallest_radii(linear, constant, points, np.zeros(12, int), halvings=5)
    assert np.isinf(nothing.radii).all()


def test_pgd_with_targets_a_budget_per_row_and_a_range(line, points):
    rows, x = jax.tree.map(jnp.asarray, line), np.clip(points, 0, 1)
    aims = (line(x).argmax(axis=1) + 1) % 4
    sizes = np.linspace(0.01, 5, 12)
    found = robustness.pgd(
        linear,
        rows,
        x,
        aims,
        sizes,
        p=2.0,
        num_steps=10,
        starts=2,
        key=jax.random.key(1),
        box=robustness.Box(0.0, 1.0),
        loss="targeted",
    )
    inputs = np.asarray(found.inputs)
    assert inputs.min() >= 0
    assert inputs.max() <= 1
    assert (np.linalg.norm(inputs - x, axis=1) <= sizes * (1 + 1e-5)).all()
    assert ((line(inputs).argmax(axis=1) == aims) == np.asarray(found.fooled)).all()
    assert found.best.shape == (2, 11, 12)
    assert (np.diff(found.best, axis=1) >= 0).all()


def test_one_step_on_two_linear_classes_lowers_the_margin_by_the_dual_norm():
    w = np.array([1.0, -2.0, 0.0])
    two = LinearScores(jnp.stack([jnp.zeros(3), jnp.asarray(w)]), jnp.zeros(2))
    x = RNG.normal(size=(5, 3))
    for p, fall in ((math.inf, 3.0), (1.0, 2.0)):
        moved = robustness.fgsm(linear, two, x, np.ones(5, int), 0.1, p=p)
        np.testing.assert_allclose((x - np.asarray(moved)) @ w, 0.1 * fall, rtol=1e-5)


def test_attacks_say_what_is_wrong(line, points):
    rows = jax.tree.map(jnp.asarray, line)
    with pytest.raises(ValueError, match="no key"):
        robustness.pgd(linear, rows, points, np.zeros(12, int), 0.1, starts=2)
    with pytest.raises(ValueError, match="at least 1"):
        robustness.pgd(linear, rows, points, np.zeros(12, int), 0.1, num_steps=0)
    with pytest.raises(ValueError, match="above 1"):
        robustness.deepfool(linear, rows, points, p=1.0)
    with pytest.raises(ValueError, match="above 0"):
        robustness.deepfool(linear, rows, points, overshoot=0.0)


@pytest.mark.slow
def test_the_bracket_of_two_linear_classes_closes_at_the_exact_distance():
    two = LinearScores(jnp.array([[0.0, 0.0], [1.0, -2.0]]), jnp.zeros(2))
    x = np.array([[1.0, 0.0], [3.0, 0.0], [0.5, -0.5]])
    exact = np.asarray(robustness.boundary_distances(two, jnp.asarray(x), math.inf).min(axis=1))
    eps = np.array([0.2, 0.4, 0.9, 1.5])
    found = robustness.accuracy_bracket(linear, two, x, np.ones(3, int), eps, key=jax.random.key(0), num_steps=5)
    expected = (exact[None] > eps[:, None]).mean(axis=1)
    np.testing.assert_allclose(found.above, expected)
    np.testing.assert_allclose(found.below, expected)
    np.testing.assert_allclose(found.certified, exact, rtol=1e-4)
    assert half_radius(eps, found.above) == pytest.approx(0.65)
    assert half_radius(eps, np.ones(4)) is None


def test_a_network_may_compute_in_another_precision_than_its_inputs(line, points):
    def mixed(params, x):
        return linear(params, x.astype(np.float64))

    x = points.astype(np.float32)
    labels = np.asarray(linear(line, points)).argmax(1)
    found = robustness.pgd(mixed, line, x, labels, 0.5, num_steps=10)
    fooled = robustness.deepfool(mixed, line, x)
    assert found.inputs.dtype == fooled.inputs.dtype == np.float32
    exact = robustness.deepfool(linear, line, points)
    np.testing.assert_allclose(fooled.lengths, exact.lengths, rtol=1e-4)
