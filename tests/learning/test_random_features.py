import jax
import numpy as np
import pytest

from leadline.learning import draw_features, fit_readout, ridge

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 4)), RNG.standard_normal(12)


def relu(z):
    return np.maximum(z, 0)


def test_features_are_the_layer_and_have_the_stated_variances():
    phi = draw_features(4, 5000, relu, bias_scale=0.5, key=jax.random.key(0))
    np.testing.assert_allclose(phi(X), relu(X @ phi.weights.T + phi.biases))
    assert phi.weights.var() == pytest.approx(1 / 4, rel=0.06)
    assert phi.biases.var() == pytest.approx(1 / 4, rel=0.15)


def test_as_many_features_as_samples_interpolate_and_one_less_does_not():
    phi = draw_features(4, 12, np.tanh, key=jax.random.key(1))
    assert np.abs(fit_readout(phi, X, Y).predict(phi(X)) - Y).max() < 1e-8
    less = phi._replace(weights=phi.weights[:-1], biases=phi.biases[:-1])
    assert np.abs(fit_readout(less, X, Y).predict(less(X)) - Y).max() > 1e-4


def test_the_dual_ridge_solution_is_the_primal_one():
    phi = draw_features(4, 30, relu, key=jax.random.key(2))
    dual = fit_readout(phi, X, Y, ridge=0.6)
    primal = ridge(phi(X), Y, 0.6 / 12, intercept=False)
    np.testing.assert_allclose(dual.weights, primal.weights, rtol=1e-9, atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="positive"):
        draw_features(0, 3, relu, key=jax.random.key(0))
    with pytest.raises(ValueError, match="at least 0"):
        fit_readout(draw_features(4, 3, relu, key=jax.random.key(0)), X, Y, ridge=-1.0)
