import jax
import numpy as np
import pytest

from leadline.learning import draw_features, fit_readout, ridge
from leadline.learning.regression.random_features import expansion_readout

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


def test_named_activations_and_scales():
    phi = draw_features(3, 4000, "erf", weight_scale=2.0, bias_scale=0.0, key=jax.random.key(3))
    assert phi.biases.tolist() == [0.0] * 4000
    np.testing.assert_allclose(phi.weights.std(), 2.0, rtol=0.05)
    assert phi.first(5)(np.ones((2, 3))).shape == (2, 5)
    with pytest.raises(ValueError, match="one of cos, erf, relu, sign, tanh"):
        draw_features(3, 4, "gelu", key=jax.random.key(0))


def test_estimated_kernel_tends_to_the_arc_sine():
    x, z = np.array([[1.0, 2.0, -1.0]]), np.array([[0.5, -1.0, 2.0]])
    phi = draw_features(3, 100_000, "erf", weight_scale=1.0, bias_scale=0.0, key=jax.random.key(4))
    assert abs(phi.estimated_kernel(x, z)[0, 0] - (-0.38805)) < 0.01


def test_plug_in_weights_give_the_expansion():
    phi, alpha = draw_features(4, 9, relu, key=jax.random.key(5)), np.arange(len(X)) - 3.0
    fit = expansion_readout(phi, X, alpha)
    np.testing.assert_allclose(fit.predict(phi(X)), phi.estimated_kernel(X, X) @ alpha, atol=1e-10)
    with pytest.raises(ValueError, match="one for each"):
        expansion_readout(phi, X, alpha[:2])
