"""Softmax regression against automatic differentiation, scikit-learn and the reference numbers of the curriculum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.data import generator
from leadline.optimisation import SoftmaxRidge, digits_softmax
from leadline.stochastic.noise.softmax_noise import softmax_noise


@pytest.fixture(scope="module")
def small():
    rng = generator(jax.random.key(0))
    x = jnp.asarray(rng.normal(size=(40, 3)))
    return SoftmaxRidge(x, jnp.asarray(rng.integers(0, 4, 40)), jnp.asarray(0.1), 4)


def test_gradients_and_hessian_are_those_of_automatic_differentiation(small):
    w = jnp.asarray(generator(jax.random.key(1)).normal(size=12))
    np.testing.assert_allclose(small.hessian(w), jax.hessian(small)(w), atol=1e-12)
    rows = jax.vmap(jax.grad(small.sample_loss), (None, 0, 0))(w, small.x, small.labels)
    np.testing.assert_allclose(small.sample_gradients(w), rows, atol=1e-12)
    np.testing.assert_allclose(rows.mean(axis=0), small.gradient(w), atol=1e-12)


def test_the_minimum_is_scikit_learns(small):
    from sklearn.linear_model import LogisticRegression

    theirs = LogisticRegression(C=1 / (40 * 0.1), fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(np.asarray(small.x), np.asarray(small.labels))
    np.testing.assert_allclose(small.constants().minimiser.reshape(3, 4), theirs.coef_.T, atol=1e-5)


def test_the_certified_smoothness_bounds_the_curvature(small):
    known = small.constants()
    for seed in range(5):
        w = jnp.asarray(3 * generator(jax.random.key(seed)).normal(size=12))
        values = np.linalg.eigvalsh(np.asarray(small.hessian(w)))
        assert known.strong_convexity - 1e-12 <= values[0]
        assert values[-1] <= known.smoothness


def test_the_digits_have_the_constants_of_the_curriculum():
    problem = digits_softmax(0.01)
    known = problem.constants()
    assert known.smoothness == pytest.approx(5.7318, abs=5e-5)
    assert known.condition == pytest.approx(573.2, abs=0.05)
    assert known.minimum == pytest.approx(0.7410569, abs=5e-8)
    assert problem.largest_sample_smoothness == pytest.approx(12.0588, abs=5e-5)
    gradients = np.asarray(problem.sample_gradients(jnp.asarray(known.minimiser)))
    assert np.sum(gradients**2) / 1797 == pytest.approx(2.60125, abs=5e-6)


def test_the_two_traces_are_those_of_the_matrices(small):
    noise = softmax_noise(small, probes=4000, key=jax.random.key(2))
    known = small.constants()
    np.testing.assert_allclose(noise.minimiser, known.minimiser, atol=1e-5)
    gradients = np.asarray(small.sample_gradients(jnp.asarray(known.minimiser)))
    covariance = np.cov(gradients.T, bias=True)
    assert noise.trace == pytest.approx(np.trace(covariance), rel=1e-5)
    exact = np.trace(np.asarray(small.hessian(jnp.asarray(known.minimiser))) @ covariance)
    assert abs(noise.curved_trace - exact) < 4 * noise.curved_error
    assert noise.floor(0.1, 2) == pytest.approx(0.05 / 4 * (noise.trace + 0.05 * noise.curved_trace))


def test_without_a_penalty_there_is_no_minimum_to_speak_of(small):
    free = SoftmaxRidge(small.x, small.labels, jnp.asarray(0.0), 4)
    assert free.constants().minimiser is None
    with pytest.raises(ValueError, match="give a positive one"):
        softmax_noise(free, key=jax.random.key(0))
