"""Normalised features against Equinox, automatic derivatives and integrals."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leadline.regularisation import dropout_variance, normalise_features, normalise_features_gradient, rectified_moments


@pytest.mark.parametrize("axes", [0, 1, (0, 2), (1, 2)])
def test_the_gradient_is_that_of_jax_over_any_axes(axes):
    h, dy = jax.random.normal(jax.random.key(0), (5, 4, 3)), jax.random.normal(jax.random.key(1), (5, 4, 3))
    by_jax = jax.vjp(lambda h: normalise_features(h, axes), h)[1](dy)[0]
    np.testing.assert_allclose(normalise_features_gradient(h, dy, axes), by_jax, atol=1e-4)


def test_over_a_row_it_is_layer_normalisation():
    h = jax.random.normal(jax.random.key(0), (6,))
    np.testing.assert_allclose(normalise_features(h), eqx.nn.LayerNorm(6)(h), atol=1e-5)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (-1.5, 2.0), (2.0, 0.5)])
def test_rectified_moments_are_the_integrals(shift, scale):
    first, second = (
        quad(lambda z, k=k: max(scale * z + shift, 0.0) ** k * norm.pdf(z), -10, 10, points=[-shift / scale])[0]
        for k in (1, 2)
    )
    found = rectified_moments(shift, scale)
    np.testing.assert_allclose([float(v) for v in found], [first, second - first**2], rtol=1e-4)


def test_dropout_variance_is_that_of_both_outcomes():
    x = np.array([-1.0, 0.5, 2.0])
    outcomes, weights = np.concatenate([0 * x, x / 0.7]), np.repeat([0.3 / 3, 0.7 / 3], 3)
    total = weights @ outcomes**2 - (weights @ outcomes) ** 2
    np.testing.assert_allclose(dropout_variance(x.mean(), x.var(), 0.3), total, rtol=1e-12)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="drop = 1"):
        dropout_variance(0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="give them alike"):
        normalise_features_gradient(jnp.ones((2, 2)), jnp.ones(2))
    with pytest.raises(ValueError, match="scale = 0"):
        rectified_moments(1.0, 0.0)


def test_features_that_do_not_vary_are_refused_only_without_epsilon():
    h = jnp.array([[1.0, 2.0], [1.0, 4.0]])
    for call in (normalise_features, lambda h, **options: normalise_features_gradient(h, h, **options)):
        with pytest.raises(ValueError, match="variance is 0, which cannot be divided by"):
            call(h, epsilon=0.0)
        assert bool(jnp.isfinite(call(h)).all())
