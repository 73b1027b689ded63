"""Softmax, cross-entropy, smoothing and label sets against Optax, SciPy and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import special
from scipy.optimize import minimize

from leadline import learning as lm
from leadline.learning.classification.softmax_loss import others_epsilon

Z = np.random.default_rng(0).normal(size=(5, 4)) * 3
Y = np.array([0, 3, 1, 2, 2])


def test_softmax_agrees_with_scipy_at_every_temperature():
    for t in (0.1, 1.0, 7.0):
        np.testing.assert_allclose(lm.softmax(Z, t), special.softmax(Z / t, axis=1), rtol=1e-12)
        np.testing.assert_allclose(lm.log_softmax(Z, t), special.log_softmax(Z / t, axis=1), rtol=1e-12)
        np.testing.assert_allclose(lm.soft_maximum(Z, t), t * special.logsumexp(Z / t, axis=1), rtol=1e-12)
        np.testing.assert_allclose(lm.softmax_entropy(Z, t), special.entr(lm.softmax(Z, t)).sum(1), atol=1e-14)


def test_the_jacobian_is_that_of_autodiff():
    mine = lm.softmax_jacobian(Z[0], 0.7)
    np.testing.assert_allclose(mine, jax.jacobian(lambda z: lm.softmax(z, 0.7))(jnp.asarray(Z[0])), atol=1e-14)
    np.testing.assert_allclose(mine.sum(1), 0, atol=1e-15)


def test_cross_entropy_agrees_with_optax_for_labels_and_distributions():
    np.testing.assert_allclose(
        lm.cross_entropy(Z, Y), optax.losses.softmax_cross_entropy_with_integer_labels(Z, Y), rtol=1e-12
    )
    t = np.asarray(lm.softmax(Z[::-1]))
    np.testing.assert_allclose(lm.cross_entropy(Z, t, 2.0), optax.losses.softmax_cross_entropy(Z / 2, t), rtol=1e-12)
    assert float(lm.cross_entropy(jnp.zeros(8), jnp.array(3))) == pytest.approx(np.log(8))


def test_it_is_finite_where_the_logarithm_of_the_softmax_is_not_and_knows_impossible_classes():
    z = jnp.array([1e4, 0.0])
    assert float(lm.cross_entropy(z, jnp.array(1))) == 1e4
    assert float(jnp.log(lm.softmax(z))[1]) == -np.inf
    assert float(lm.cross_entropy(jnp.array([0.0, -jnp.inf]), jnp.array([1.0, 0.0]))) == 0.0


def test_smoothed_targets_of_both_conventions():
    mine = np.asarray(lm.smooth_labels(Y, 4, 0.2))
    np.testing.assert_allclose(mine.sum(1), 1)
    np.testing.assert_allclose(mine[0], [0.8, 0.2 / 3, 0.2 / 3, 0.2 / 3])
    theirs = optax.losses.smooth_labels(jax.nn.one_hot(Y, 4), 0.2)
    np.testing.assert_allclose(lm.smooth_labels(Y, 4, 0.2, convention="all"), theirs, atol=1e-12)
    np.testing.assert_allclose(lm.smooth_labels(Y, 4, others_epsilon(0.2, 4)), theirs, atol=1e-12)


def test_the_optimum_under_smoothing_is_what_a_numerical_search_finds():
    t = np.asarray(lm.smooth_labels(np.array(2), 5, 0.3))
    found = minimize(lambda z: float(lm.cross_entropy(jnp.asarray(z), t)), np.zeros(5), tol=1e-12)
    best = lm.smoothing_optimum(5, 0.3)
    assert found.fun == pytest.approx(best.loss, abs=1e-10)
    np.testing.assert_allclose(found.x[2] - np.delete(found.x, 2), best.gap, atol=1e-4)
    assert lm.smoothing_optimum(10, 0.1, convention="all").gap == pytest.approx(4.5109, abs=1e-4)
    assert lm.smoothing_optimum(4, 0.9).gap < 0


def test_binary_cross_entropy_agrees_with_optax_and_sums_over_classes():
    t = (Z > 1) * 1.0
    reference = optax.losses.sigmoid_binary_cross_entropy(Z, t)
    np.testing.assert_allclose(lm.binary_cross_entropy(Z, t), reference, rtol=1e-12)
    np.testing.assert_allclose(lm.multi_label_loss(Z, t), reference.sum(1), rtol=1e-12)
    gradient = jax.grad(lambda z: lm.multi_label_loss(z, t).sum())(jnp.asarray(Z))
    np.testing.assert_allclose(gradient, special.expit(Z) - t, atol=1e-14)


def test_bad_input_is_refused():
    for call, word in [
        (lambda: lm.softmax(Z, 0.0), "temperature"),
        (lambda: lm.cross_entropy(Z, np.array([0.0, 1, 2, 3, 3])), "whole numbers"),
        (lambda: lm.cross_entropy(Z, np.array([0, 1])), "shape"),
        (lambda: lm.smooth_labels(Y, 1, 0.1), "at least 2"),
        (lambda: lm.smooth_labels(Y, 4, 1.5), "epsilon"),
        (lambda: lm.smoothing_optimum(4, 0.0), "finite"),
    ]:
        with pytest.raises(ValueError, match=word):
            call()
