import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from leadline.landscape.deep_linear import best_decoder, best_encoder, least_squares_map, random_problem

PROBLEM = random_problem(4, 3, 40, key=jax.random.key(0))
RNG = np.random.default_rng(0)


def test_the_map_is_the_pseudo_inverse_for_few_and_many_samples():
    for n in (2, 5, 30):
        x, y = RNG.normal(size=(5, n)), RNG.normal(size=(2, n))
        np.testing.assert_allclose(least_squares_map(x, y), y @ np.linalg.pinv(x), atol=1e-9)


def test_no_numerical_minimiser_finds_a_better_factor():
    a, b = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 4))
    found = minimize(lambda v: PROBLEM.factor_loss(a, v.reshape(2, 4)), np.zeros(8), method="BFGS", tol=1e-9)
    np.testing.assert_allclose(best_encoder(PROBLEM, a), found.x.reshape(2, 4), atol=1e-5)
    found = minimize(lambda v: PROBLEM.factor_loss(v.reshape(3, 2), b), np.zeros(6), method="BFGS", tol=1e-9)
    np.testing.assert_allclose(best_decoder(PROBLEM, b), found.x.reshape(3, 2), atol=1e-5)


def test_dependent_factors_give_the_least_optimum():
    a, b = np.ones((3, 2)), np.ones((2, 4))
    np.testing.assert_allclose(best_encoder(PROBLEM, a), np.linalg.pinv(a) @ PROBLEM.best_map, atol=1e-12)
    decoder = best_decoder(PROBLEM, b)
    np.testing.assert_allclose(decoder[:, 0], decoder[:, 1], atol=1e-12)
    assert np.abs(PROBLEM.factor_gradient(decoder, b)[0]).max() < 1e-12
    assert not best_encoder(PROBLEM, np.zeros((3, 2))).any()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 outputs"):
        best_encoder(PROBLEM, np.ones((2, 2)))
    with pytest.raises(ValueError, match="4 inputs"):
        best_decoder(PROBLEM, np.ones((2, 2)))
