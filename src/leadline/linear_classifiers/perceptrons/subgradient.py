"""The perceptron rule as stochastic subgradient descent on a loss."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from leadline.training import scan_steps


def perceptron_loss(
    w: Float[Array | np.ndarray, " d"], x: Float[Array | np.ndarray, " d"], y: Float[Array | np.ndarray, ""]
) -> Float[Array, ""]:
    """l(w) = max(0, -y w·x), written so that automatic differentiation returns the perceptron's subgradient.

    At a tie y w·x = 0 the subdifferential is the segment [-y x, 0]. The rule needs the end -y x, which the
    branch below gives; jax.nn.relu would give 0 (nothing ever moves from w = 0) and jnp.maximum the middle.

    >>> jax.grad(perceptron_loss)(jnp.zeros(2), jnp.array([1.0, 2.0]), jnp.array(1.0)).tolist()
    [-1.0, -2.0]
    """
    score = y * (x @ w)
    return jnp.where(score <= 0, -score, 0)


@jax.jit
def subgradient_descent(
    x: Float[Array | np.ndarray, "n d"],
    y: Float[Array | np.ndarray, " n"],
    stream: Int[Array | np.ndarray, " presentations"],
    *,
    step_size: float | Float[Array, ""],
    start: Float[Array | np.ndarray, " d"],
) -> Float[Array, "presentations_plus_1 d"]:
    """Plain SGD (optax) on the perceptron loss of one example at a time, in the order of `stream`; every iterate.

    >>> subgradient_descent(jnp.eye(2), jnp.ones(2), jnp.array([0, 1]), step_size=1.0, start=jnp.zeros(2)).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """
    x, y, start = jnp.asarray(x), jnp.asarray(y), jnp.asarray(start)

    def loss(w: Array, i: Array, key: None, state: None) -> tuple[Float[Array, ""], None]:
        return perceptron_loss(w, x[i], y[i]), None

    path = scan_steps(
        loss, start, optax.sgd(step_size), jnp.asarray(stream), measure=lambda seen: seen.after.parameters
    ).measured
    return jnp.concatenate([start[None], path])
