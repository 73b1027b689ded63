"""Stochastic gradients: batches with and without replacement, the descent, and the exact distribution of its noise."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline.data import batch_sequence

Gradients = Float[Array | np.ndarray, "n p"]
Scheme = Literal["replacement", "permuted"]


def draw_batches(
    samples: int, batch: int, num_steps: int, *, scheme: Scheme = "replacement", key: PRNGKeyArray
) -> Int[Array, "steps batch"]:
    """The indices of each step's batch: independent and uniform, or cut from one permutation an epoch.

    >>> draw_batches(6, 6, 1, scheme="permuted", key=jax.random.key(0)).sort().tolist()
    [[0, 1, 2, 3, 4, 5]]
    """
    if scheme == "permuted":
        return batch_sequence(samples, batch, num_steps, key=key)
    if scheme != "replacement":
        raise ValueError(f"draw_batches got scheme '{scheme}'; choose 'replacement' or 'permuted'.")
    if batch < 1 or samples < 1:
        raise ValueError(f"draw_batches got batch {batch} of {samples} samples; both must be at least 1.")
    return jax.random.randint(key, (num_steps, batch), 0, samples)


def sgd_path(
    loss: Callable[..., Float[Array, ""]],
    start: Float[Array, " p"],
    step_size: float | Float[Array, ""],
    batches: Int[Array, "steps batch"],
    *arrays: Num[Array | np.ndarray, "n ..."],
) -> Float[Array, "steps+1 p"]:
    """w ← w - η (1/B) Σ_{i in batch} ∇ℓᵢ(w), from `start`: all iterates (Robbins and Monro 1951).

    `loss(w, *rows)` is the loss of one example; at a kink automatic differentiation takes a subgradient.

    >>> y = jnp.array([1.0, 3.0])
    >>> path = sgd_path(lambda w, y: (w[0] - y) ** 2 / 2, jnp.zeros(1), 0.5, jnp.array([[0], [1]]), y)
    >>> path[:, 0].tolist()
    [0.0, 0.5, 1.75]
    """
    arrays = tuple(jnp.asarray(a) for a in arrays)
    return _sgd_path(loss, start, jnp.asarray(step_size, start.dtype), batches, arrays)


def _path(loss, start, step, batches, arrays):
    def move(w, rows):
        gradients = jax.vmap(jax.grad(loss), (None, *(0 for _ in arrays)))(w, *(a[rows] for a in arrays))
        w = w - step * gradients.mean(axis=0)
        return w, w

    _, path = jax.lax.scan(move, start, batches)
    return jnp.concatenate([start[None], path])


_sgd_path = jax.jit(_path, static_argnums=0)


def sample_gradients(
    loss: Callable[..., Float[Array, ""]], w: Float[Array | np.ndarray, " p"], *arrays: Num[Array | np.ndarray, "n ..."]
) -> Float[Array, "n p"]:
    """∇ℓᵢ(w) of every example, in rows.

    >>> sample_gradients(lambda w, y: (w[0] - y) ** 2 / 2, jnp.zeros(1), jnp.array([1.0, 3.0])).tolist()
    [[-1.0], [-3.0]]
    """
    return jax.vmap(jax.grad(loss), (None, *(0 for _ in arrays)))(w, *(jnp.asarray(a) for a in arrays))


def gradient_covariance(gradients: Gradients) -> Float[Array | np.ndarray, "p p"]:
    """S = (1/n) Σ (gᵢ - ḡ)(gᵢ - ḡ)ᵀ, the covariance of one gradient drawn uniformly from the n.

    >>> gradient_covariance(np.array([[-1.0], [-3.0]])).tolist()
    [[1.0]]
    """
    centred = gradients - gradients.mean(axis=0)
    return centred.T @ centred / len(centred)


def batch_covariance(gradients: Gradients, batch: int, *, replacement: bool = True) -> Float[Array | np.ndarray, "p p"]:
    """The covariance of the mean of `batch` gradients: S/B with replacement, (S/B)(n-B)/(n-1) without.

    >>> batch_covariance(np.array([[-1.0], [-3.0]]), 2, replacement=False).tolist()
    [[0.0]]
    """
    n = len(gradients)
    if batch < 1 or (not replacement and batch > n):
        raise ValueError(f"batch_covariance got batch {batch} of {n}; give 1 to {n}, or more only with replacement.")
    share = 1.0 if replacement else (n - batch) / max(n - 1, 1)
    return gradient_covariance(gradients) / batch * share
