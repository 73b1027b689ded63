"""The kernels of a wide perceptron after every layer, and the correlation of two inputs on its way through depth."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activation_kernels.activation import ActivationLayer
from .activation_kernels.named import activation_layer
from .layers.layer import Covariance


def kernels_through_depth(
    activation: str | ActivationLayer,
    x: Any,
    depth: int,
    W_std: float = 1.0,
    b_std: float = 0.0,
    *,
    first_W_std: float | None = None,
) -> Covariance:
    """The kernels of `dense_stack` with 0, ..., depth hidden layers, for all pairs of rows; (depth + 1, n, n) each.

    K⁰ = Θ⁰ = W_std² x.z/d + b_std², K^(l+1) = W_std² E φφ + b_std², Θ^(l+1) = W_std² Θ^l E φ'φ' + K^(l+1), in one
    program for all depths and standard deviations.

    >>> kernels_through_depth("relu", jnp.ones((1, 3)), 2, 2**0.5, first_W_std=1.0).ntk.ravel().round(6).tolist()
    [1.0, 2.0, 3.0]
    """
    x = jnp.asarray(x, float)
    first = W_std if first_W_std is None else first_W_std
    return _recursion(activation_layer(activation), depth, x, jnp.asarray([W_std, b_std, first], x.dtype))


@partial(jax.jit, static_argnums=(0, 1))
def _recursion(layer: ActivationLayer, depth: int, x: Array, spread: Array) -> Covariance:
    gain, bias, first = spread**2
    variance = first * jnp.mean(x * x, axis=1) + bias
    start = jnp.where(jnp.eye(len(x), dtype=bool), variance, first * (x @ x.T) / x.shape[1] + bias)

    def step(state: tuple[Array, Covariance], _: None) -> tuple[tuple[Array, Covariance], Covariance]:
        q, (k, t) = state
        notes = layer.notes(q)
        one, two = jax.tree.map(lambda a: a[..., :, None], notes), jax.tree.map(lambda a: a[..., None, :], notes)
        value, slopes = layer.dual(k, one, two, True)
        k = gain * value + bias
        after = Covariance(k, gain * t * slopes + k)
        return (gain * layer.moment(q) + bias, after), after

    begin = Covariance(start, start)
    _, found = jax.lax.scan(step, (variance, begin), None, length=depth)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), begin, found)


def correlations_through_depth(
    activation: str | ActivationLayer,
    correlation: Any,
    depth: int,
    W_std: float = 1.0,
    b_std: float = 0.0,
    *,
    variance: float = 1.0,
) -> Float[Array, "layers ..."]:
    """c₀, ..., c_depth: correlations of pre-activations of two inputs whose first ones have the given variance q₀.

    q' = W_std² E φ(√q Z)² + b_std² and c' = (W_std² E φ(u)φ(v) + b_std²)/q', (u, v) Gaussian of variance q and
    correlation c. Poole et al. 2016.

    >>> correlations_through_depth("relu", 0.0, 3, 2**0.5).round(3).tolist()
    [0.0, 0.318, 0.494, 0.605]
    """
    start = jnp.asarray(correlation, float)
    numbers = jnp.asarray([W_std**2, b_std**2, variance], start.dtype)
    return _correlations(activation_layer(activation), depth, start, numbers)


@partial(jax.jit, static_argnums=(0, 1))
def _correlations(layer: ActivationLayer, depth: int, start: Array, numbers: Array) -> Array:
    gain, bias, variance = numbers

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        c, q = state
        notes = layer.notes(q)
        after = gain * layer.moment(q) + bias
        c = (gain * layer.dual(c * q, notes, notes, False)[0] + bias) / after
        return (c, after), c

    _, found = jax.lax.scan(step, (start, variance), None, length=depth)
    return jnp.concatenate([start[None], found])
