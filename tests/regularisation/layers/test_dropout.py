"""Dropout against Equinox's and Flax's, in both conventions, and what it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from leadline.regularisation import DropConnect, Dropout, convert_dropout

KEY = jax.random.key(0)
X = jnp.asarray(np.random.default_rng(0).normal(size=200))


def value_and_slope(function, x):
    return function(x), jax.grad(lambda x: jnp.sum(jnp.sin(function(x))))(x)


def test_inverted_dropout_is_that_of_equinox_forwards_and_backwards():
    ours = value_and_slope(lambda x: Dropout(0.3)(x, key=KEY), X)
    theirs = value_and_slope(lambda x: eqx.nn.Dropout(0.3)(x, key=KEY), X)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_kept_is_scaled_as_flax_scales_it():
    kept = nnx.Dropout(0.3, rngs=nnx.Rngs(0))(X)
    ours = Dropout(0.3)(X, key=KEY)
    both = (np.asarray(kept) != 0) & (np.asarray(ours) != 0)
    assert both.sum() > 50
    np.testing.assert_allclose(np.asarray(kept)[both], np.asarray(ours)[both], rtol=1e-6)


def test_the_conventions_compute_the_same_after_conversion_in_training_and_in_use():
    w = jnp.cos(jnp.arange(200.0))
    classic = Dropout(0.3, convention="classic")
    converted = convert_dropout(w, 0.3, to="classic")
    np.testing.assert_allclose(converted @ classic(X, key=KEY), w @ Dropout(0.3)(X, key=KEY), rtol=1e-12)
    in_use = eqx.nn.inference_mode((classic, Dropout(0.3)))
    np.testing.assert_allclose(converted @ in_use[0](X), w @ in_use[1](X), rtol=1e-12)
    np.testing.assert_allclose(convert_dropout(converted, 0.3, to="inverted"), w, rtol=1e-15)


def test_masked_weights_have_the_mean_and_variance_of_independent_masks():
    linear = eqx.nn.Linear(5, 2, key=KEY)
    layer = DropConnect(linear, 0.4)
    x = jnp.arange(1.0, 6.0)
    draws = jax.vmap(lambda key: layer(x, key=key))(jax.random.split(KEY, 4000))
    variance = 0.4 / 0.6 * (linear.weight**2 @ x**2)
    error = np.asarray(draws.mean(axis=0) - linear(x)) / np.sqrt(variance / 4000)
    assert np.abs(error).max() < 4
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.15)
    np.testing.assert_array_equal(eqx.nn.inference_mode(layer)(x), linear(x))


def test_a_mask_of_weights_is_that_of_dropout_on_them_forwards_and_backwards():
    linear = eqx.nn.Linear(5, 2, key=KEY)
    x = jnp.arange(1.0, 6.0)
    mask = eqx.nn.Dropout(0.4)(jnp.ones((2, 5)), key=KEY)
    ours = value_and_slope(lambda x: DropConnect(linear, 0.4)(x, key=KEY), x)
    by_hand = value_and_slope(lambda x: (mask * linear.weight) @ x + linear.bias, x)
    for a, b in zip(ours, by_hand, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("p", [1, 1.5, -0.1, float("nan")])
@pytest.mark.parametrize("make", [Dropout, lambda p: DropConnect(eqx.nn.Linear(2, 2, key=KEY), p)])
def test_a_rate_that_keeps_nothing_is_refused(make, p):
    with pytest.raises(ValueError, match=r"give the share to drop"):
        make(p)


def test_a_key_is_asked_for_in_training_and_not_in_use():
    for layer, x in ((Dropout(0.5), X), (DropConnect(eqx.nn.Linear(2, 2, key=KEY)), X[:2])):
        with pytest.raises(ValueError, match="in training mode got no key"):
            layer(x)
        eqx.nn.inference_mode(layer)(x)
