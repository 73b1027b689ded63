"""Weight normalisation against plain layers, PyTorch's formula and automatic derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.regularisation import data_dependent_start, weight_norm_gradients, weight_normalised

KEY = jax.random.key(0)


def test_gradients_equal_those_through_the_reparametrisation():
    v, dw = jax.random.normal(KEY, (3, 2, 4)), jax.random.normal(jax.random.key(1), (3, 2, 4))
    gain = jnp.array([1.0, -2.0, 0.5])

    def weights(gain, v):
        return (gain / jnp.linalg.norm(v.reshape(3, -1), axis=1))[:, None, None] * v

    by_jax = jax.vjp(weights, gain, v)[1](dw)
    for ours, theirs in zip(weight_norm_gradients(v, gain, dw), by_jax, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_start_from_data_standardises_a_convolution_and_keeps_the_directions():
    layer = weight_normalised(eqx.nn.Conv2d(2, 3, 3, key=KEY))
    x = 4.0 + jax.random.normal(KEY, (10, 2, 6, 6))
    started = data_dependent_start(layer, x)
    out = np.asarray(jax.vmap(started)(x))
    np.testing.assert_allclose(out.mean(axis=(0, 2, 3)), 0.0, atol=1e-4)
    np.testing.assert_allclose(out.var(axis=(0, 2, 3)), 1.0, rtol=1e-3)
    assert bool(jnp.all(started.layer.weight == layer.layer.weight))


def test_what_has_no_direction_no_bias_or_no_spread_is_named():
    linear = eqx.nn.Linear(3, 2, key=KEY)
    with pytest.raises(ValueError, match="all 0 at unit 0"):
        weight_normalised(eqx.tree_at(lambda n: n.weight, linear, jnp.zeros((2, 3))))
    with pytest.raises(ValueError, match="v = 0 at unit 1"):
        weight_norm_gradients(jnp.array([[1.0], [0.0]]), jnp.ones(2), jnp.ones((2, 1)))
    with pytest.raises(ValueError, match="without a matrix"):
        weight_normalised(eqx.nn.Identity())
    with pytest.raises(ValueError, match="without a bias"):
        data_dependent_start(weight_normalised(eqx.nn.Linear(3, 2, use_bias=False, key=KEY)), jnp.ones((4, 3)))
    with pytest.raises(ValueError, match="is constant"):
        data_dependent_start(weight_normalised(linear), jnp.ones((4, 3)))
