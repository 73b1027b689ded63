import jax
import numpy as np
import pytest

from leadline.landscape.deep_linear import alternate_factors, digits_autoencoder, gaussian_factors, random_problem

PROBLEM = random_problem(5, 4, 50, key=jax.random.key(1), spectrum=(4.0, 2.0, 1.0, 0.5))


def test_a_sweep_multiplies_the_columns_by_sigma():
    start = np.random.default_rng(0).normal(size=(4, 2))
    run = alternate_factors(PROBLEM, start, sweeps=1)
    image = PROBLEM.sigma @ start
    np.testing.assert_allclose(np.linalg.matrix_rank(np.hstack([run.a, image]), tol=1e-8 * np.abs(image).max()), 2)


def test_it_contracts_by_the_ratio_of_eigenvalues_and_ends_at_the_best_map():
    run = alternate_factors(PROBLEM, np.random.default_rng(0).normal(size=(4, 2)), sweeps=45)
    assert run.contraction() == pytest.approx(0.5, rel=1e-5)
    np.testing.assert_allclose(run.a @ run.b, PROBLEM.critical_map(range(2)), atol=1e-9)
    assert np.diff(run.losses).max() < 1e-13


def test_digits_contract_by_the_published_factor():
    problem = digits_autoencoder()
    start, _ = gaussian_factors(problem, 4, 1.0, key=jax.random.key(0))
    assert alternate_factors(problem, start, sweeps=56).contraction() == pytest.approx(0.687566, abs=1e-5)


def test_as_many_units_as_outputs_need_one_sweep():
    run = alternate_factors(PROBLEM, np.random.default_rng(0).normal(size=(4, 4)), sweeps=1)
    np.testing.assert_allclose(run.a @ run.b, PROBLEM.best_map, atol=1e-10)


def test_what_cannot_be_measured_is_told():
    with pytest.raises(ValueError, match="at least 1"):
        alternate_factors(PROBLEM, np.ones((4, 1)), sweeps=0)
    with pytest.raises(ValueError, match="start farther"):
        alternate_factors(PROBLEM, PROBLEM.eigenvectors[:, :2], sweeps=2).contraction()
