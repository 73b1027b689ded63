"""A small classifier with its dense second derivatives, computed without the room that is tested."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree


class Dense(NamedTuple):
    net: eqx.Module
    x: np.ndarray
    y: np.ndarray
    hessian: np.ndarray
    gradients: np.ndarray  # (n, p)
    jacobian: np.ndarray  # (n, k, p)
    outputs: np.ndarray


def apply(net, x):
    return jax.vmap(net)(x)


def losses(net, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(apply(net, x), y)


def mean_loss(net, x, y):
    return jnp.mean(losses(net, x, y))


def dense_reference() -> Dense:
    rng = np.random.default_rng(0)
    net = eqx.nn.MLP(4, 3, 6, 2, jnp.tanh, key=jax.random.key(0))
    x, y = rng.normal(size=(21, 4)), rng.integers(0, 3, 21)
    moved, fixed = eqx.partition(net, eqx.is_inexact_array)
    w, unravel = ravel_pytree(moved)

    @jax.jit
    def everything(w, x, y):
        def outputs(w):
            return apply(eqx.combine(unravel(w), fixed), x)

        def each(w):
            return losses(eqx.combine(unravel(w), fixed), x, y)

        return jax.hessian(lambda w: each(w).mean())(w), jax.jacrev(each)(w), jax.jacrev(outputs)(w), outputs(w)

    return Dense(net, x, y, *(np.asarray(a) for a in everything(w, x, y)))
