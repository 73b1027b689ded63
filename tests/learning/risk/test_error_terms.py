"""Error terms: the trust-region solver against brute force, against its dual, and in the hard case."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.learning import (
    EmpiricalDistribution,
    RegressionDistribution,
    UniformInputs,
    affine,
    ball_minimum,
    empirical_moments,
    finite_error_terms,
    linear_error_terms,
    noise_distribution,
    population_moments,
    uniform_gap,
)
from leadline.learning.risk.error_terms import QuadraticRisk, ascend_gap, projected_descent


def random_quadratic(rng, p, batch=()):
    S = rng.normal(size=(*batch, p, p))
    return QuadraticRisk((S + S.mT) / 2, rng.normal(size=(*batch, p)), rng.normal(size=batch))


@pytest.mark.parametrize("p", [1, 2, 5])
def test_the_minimum_over_a_ball_is_feasible_certified_and_below_a_random_search(p):
    rng = np.random.default_rng(p)
    risk = random_quadratic(rng, p, (50,))
    best = ball_minimum(risk, 1.7)
    assert np.all(np.linalg.norm(best.argument, axis=-1) <= 1.7 * (1 + 1e-12))
    np.testing.assert_allclose(risk(best.argument), best.value, atol=1e-12)
    assert np.abs(best.gap).max() < 1e-11
    for _ in range(200):
        w = rng.normal(size=(50, p))
        w *= 1.7 * rng.random((50, 1)) ** (1 / p) / np.linalg.norm(w, axis=-1, keepdims=True)
        assert np.all(risk(w) >= best.value - 1e-12)


@pytest.mark.parametrize(
    "c", [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1e-14, 1.0, 1.0], [1e-300, 0.0, 0.0], [5.0, 0.0, 0.0]]
)
def test_the_hard_case_and_its_neighbours_are_solved(c):
    risk = QuadraticRisk(np.diag([-2.0, 0.5, 1.0]), np.array(c), np.array(0.0))
    best = ball_minimum(risk, 3.0)
    assert np.linalg.norm(best.argument) == pytest.approx(3.0, abs=1e-12)
    assert abs(best.gap) < 1e-11 * 30


def test_an_interior_minimum_is_the_solution_of_the_normal_equations():
    risk = QuadraticRisk(np.diag([1.0, 2.0]), np.array([1.0, 1.0]), np.array(3.0))
    best = ball_minimum(risk, 10.0)
    np.testing.assert_allclose(best.argument, [1.0, 0.5])
    assert best.multiplier == 0
    assert best.value == pytest.approx(3 - 1.5)


def test_a_repeated_lowest_eigenvalue_is_no_trouble():
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    risk = QuadraticRisk(q @ np.diag([-1.0, -1.0, 2.0, 2.0]) @ q.T, q @ np.array([0.0, 0.3, 1.0, 0.0]), np.array(0.0))
    assert abs(ball_minimum(risk, 2.0).gap) < 1e-11


def test_the_uniform_gap_is_attained_and_never_exceeded():
    rng = np.random.default_rng(1)
    one, other = random_quadratic(rng, 3), random_quadratic(rng, 3)
    gap = uniform_gap(one, other, 2.0)
    assert abs(one(gap.argument) - other(gap.argument)) == pytest.approx(gap.value)
    w = rng.normal(size=(20000, 3))
    w *= 2 * rng.random((20000, 1)) ** (1 / 3) / np.linalg.norm(w, axis=1, keepdims=True)
    assert np.abs(one(w) - other(w)).max() <= gap.value


def test_without_a_radius_the_gap_is_infinite_unless_the_risks_differ_by_a_constant():
    one = QuadraticRisk(np.eye(2), np.ones(2), np.array(1.0))
    assert uniform_gap(one, QuadraticRisk(2 * np.eye(2), np.ones(2), np.array(1.0)), np.inf).value == np.inf
    assert uniform_gap(one, one._replace(v=np.array(3.0)), np.inf).value == 2.0


def test_moments_of_a_sample_are_those_of_its_empirical_law():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    for a, b in zip(
        empirical_moments(affine(2).features(x), y),
        population_moments(affine(2), EmpiricalDistribution(x, y)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_population_moments_of_a_line_are_integrals_of_powers():
    law = RegressionDistribution(lambda x: x[..., 0] ** 2, UniformInputs(), noise_distribution("exponential", 0.5))
    S, c, v = population_moments(affine(), law)
    np.testing.assert_allclose(S, [[1 / 3, 1 / 2], [1 / 2, 1.0]], atol=1e-10)
    np.testing.assert_allclose(c, [1 / 4 + 1 / 4, 1 / 3 + 1 / 2], atol=1e-10)
    assert v == pytest.approx(1 / 5 + 2 * 0.5 / 3 + 0.25 + 0.25)


def test_descent_in_the_ball_never_raises_the_risk_and_tends_to_the_minimum():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    risk = empirical_moments(x, y)
    path = projected_descent(risk, 0.2, 400)
    values = np.array([risk(w) for w in path])
    assert np.all(np.diff(values) <= 1e-14)
    assert values[-1] == pytest.approx(float(ball_minimum(risk, 0.2).value), abs=1e-9)


def test_finite_classes_follow_the_definitions():
    terms = finite_error_terms(
        np.array([0, 1]), np.array([[0.1, 0.4], [0.5, 0.2]]), np.array([0.3, 0.2]), bayes_risk=0.1
    )
    np.testing.assert_allclose(terms.generalisation, [0.2, 0.2])
    np.testing.assert_allclose(terms.optimisation, [0.0, 0.0])
    np.testing.assert_allclose(terms.excess, [0.2, 0.1])
    assert terms.approximation == pytest.approx(0.1)


def test_ascent_finds_the_supremum_of_a_ball_from_below():
    rng = np.random.default_rng(4)
    difference = random_quadratic(rng, 2)
    radius = 1.0

    def gap(w, S, c, v):
        w = radius * w / jnp.maximum(1.0, jnp.linalg.norm(w))
        return w @ S @ w - 2 * w @ c + v

    zero = QuadraticRisk(np.zeros((2, 2)), np.zeros(2), np.array(0.0))
    exact = uniform_gap(difference, zero, radius).value
    starts = jax.random.normal(jax.random.key(0), (4, 2))
    bounds = ascend_gap(gap, starts, optax.sgd(0.05), 300, *(jnp.asarray(part) for part in difference))
    assert float(bounds.max()) <= exact + 1e-9
    assert float(bounds.max()) == pytest.approx(float(exact), rel=1e-3)


def test_bad_input_is_refused():
    risk = QuadraticRisk(np.eye(1), np.ones(1), np.array(1.0))
    with pytest.raises(ValueError, match="radius"):
        ball_minimum(risk, 0.0)
    with pytest.raises(ValueError, match="outside the ball"):
        linear_error_terms(np.array([2.0]), risk, risk, radius=1.0, bayes_risk=0.0)
