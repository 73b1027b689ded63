import jax
import numpy as np
import pytest

from leadline.landscape.deep_linear import (
    LinearProblem,
    descend_factors,
    digits_autoencoder,
    gaussian_factors,
    passage_times,
    random_problem,
)

PROBLEM = random_problem(4, 3, 40, key=jax.random.key(0))


def test_a_step_is_a_step_along_the_gradient_and_losses_are_those_of_the_problem():
    a, b = gaussian_factors(PROBLEM, 2, 0.5, key=jax.random.key(1))
    run = descend_factors(PROBLEM, a, b, 0.1, 1)
    down_a, down_b = PROBLEM.factor_gradient(a, b)
    np.testing.assert_allclose(run.a, a - 0.1 * down_a, atol=1e-13)
    np.testing.assert_allclose(run.b, b - 0.1 * down_b, atol=1e-13)
    expected = [PROBLEM.loss(a @ b), PROBLEM.loss(run.a @ run.b)]
    np.testing.assert_allclose(run.losses, expected, rtol=1e-12)


def test_strengths_are_one_for_the_modes_of_a_critical_point():
    u = PROBLEM.eigenvectors[:, [0, 2]]
    run = descend_factors(PROBLEM, u, u.T @ PROBLEM.best_map, 0.1, 0)
    np.testing.assert_allclose(run.strengths[0], [1, 0, 1], atol=1e-12)
    assert run.passages().tolist() == [0, -1, 0]


def test_digits_go_down_the_published_staircase_at_the_predicted_times():
    problem = digits_autoencoder()
    a, b = gaussian_factors(problem, 4, 1e-30, key=jax.random.key(0))
    run = descend_factors(problem, a, b, 0.1, 2100)
    times = 0.1 * run.passages()[:4]
    np.testing.assert_allclose(times, [103, 111, 129, 180], atol=1)
    np.testing.assert_allclose(times, passage_times(problem, a, b, step_size=0.1), atol=0.2)
    for level in (2.34664, 1.99721, 1.67763, 1.40085, 1.20350):
        assert np.sum(np.abs(run.losses - level) < 0.01) >= 20
    assert run.losses[-1] == pytest.approx(1.2034983, abs=1e-6)


def test_times_need_modes_that_grow_alone_and_small_factors():
    a, b = gaussian_factors(PROBLEM, 2, 1e-9, key=jax.random.key(1))
    with pytest.raises(ValueError, match="whiten"):
        passage_times(PROBLEM, a, b)
    white = LinearProblem(np.eye(2), np.diag([2.0, 1.0]))
    with pytest.raises(ValueError, match="small ones"):
        passage_times(white, np.eye(2), np.eye(2))


def test_factors_that_do_not_fit_are_refused():
    a, b = gaussian_factors(PROBLEM, 2, 0.5, key=jax.random.key(1))
    with pytest.raises(ValueError, match=r"needs \(3, p\) and \(p, 4\)"):
        descend_factors(PROBLEM, b.T, a.T, 0.1, 3)
    with pytest.raises(ValueError, match="positive step"):
        descend_factors(PROBLEM, a, b, -0.1, 3)
    with pytest.raises(ValueError, match="hidden unit"):
        gaussian_factors(PROBLEM, 0, 1.0, key=jax.random.key(0))
