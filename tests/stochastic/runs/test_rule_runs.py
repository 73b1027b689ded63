"""Optax rules on batches of a finite sum against the plain run."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import stochastic

RNG = np.random.default_rng(0)
PROBLEM = stochastic.least_squares_sum(RNG.standard_normal((9, 2)), RNG.standard_normal(9))
ROWS = jnp.asarray(RNG.integers(9, size=(12, 3)))


def test_plain_sgd_is_the_run_of_sgd():
    run = stochastic.rule_run(PROBLEM, optax.sgd(0.1), jnp.zeros(2), ROWS, every=4)
    expected = stochastic.sgd_run(PROBLEM, jnp.zeros(2), 0.1, ROWS, every=4)
    np.testing.assert_allclose(run.points, expected.points, atol=1e-13)
    np.testing.assert_allclose(run.last, expected.last, atol=1e-13)


def test_whole_records_are_asked_for():
    with pytest.raises(ValueError, match="multiple"):
        stochastic.rule_run(PROBLEM, optax.sgd(0.1), jnp.zeros(2), ROWS, every=5)
