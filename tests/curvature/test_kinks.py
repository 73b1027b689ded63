"""A kink is seen exactly where it is."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import curvature
from leadline.curvature import KinkWarning
from leadline.curvature.kinks import count_kinks


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda w: jax.nn.relu(w).sum(), 1),
        (lambda w: jnp.abs(w).sum(), 1),
        (lambda w: jax.nn.leaky_relu(w).sum(), 1),
        (lambda w: jnp.clip(w, -2.0, 0.0).sum(), 2),
        (lambda w: jnp.maximum(w, w[::-1]).sum(), 1),
        (lambda w: jnp.tanh(w).sum(), 0),
        (lambda w: jax.nn.logsumexp(w) + jax.nn.softmax(w)[0] + jax.nn.log_softmax(w)[1], 0),
        (lambda w: optax.softmax_cross_entropy_with_integer_labels(w, jnp.array(1)), 0),
        (lambda w: jnp.sum(w * jax.lax.stop_gradient(jax.nn.relu(w))), 0),
        (lambda w: jax.jit(jax.checkpoint(lambda u: jax.nn.relu(u).sum()))(w), 1),
    ],
)
def test_kinks_at_the_point_and_no_others(function, expected):
    assert int(count_kinks(function, jnp.array([0.0, 1.0, -2.0]))) == expected


def test_ties_among_the_data_alone_are_no_kinks():
    assert int(count_kinks(lambda w, x: jnp.sum(w * jax.nn.relu(x)), jnp.ones(2), jnp.zeros(2))) == 0


def test_the_hessian_says_so_and_is_silent_elsewhere():
    def loss(w, x):
        return jax.nn.relu(x @ w) ** 2

    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.warns(KinkWarning, match="no second derivative there"):
        curvature.hessian(loss, jnp.array([1.0, 0.0]), x, batch=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curvature.hessian(loss, jnp.array([1.0, 0.1]), x, batch=2)
