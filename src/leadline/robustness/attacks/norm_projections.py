"""Balls of the p-norms: lengths, the nearest point of a ball, the steepest direction, points inside.

Everything works along the last axis; `eps` may differ from row to row. NumPy arrays stay NumPy arrays.
"""

import math
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline._arrays import namespace
from leadline.networks import dual_exponent

Rows = Float[Array, "... d"] | Float[np.ndarray, "... d"]
Lengths = Float[Array, "..."] | Float[np.ndarray, "..."]


def p_norm(x: Rows, p: float) -> Lengths:
    """‖x‖_p = (Σ |x_i|^p)^(1/p) for p ≥ 1, the largest |x_i| for p = ∞, the count of non-zeros for p = 0 (no norm).

    >>> [round(float(p_norm(np.array([3.0, -4.0, 0.0]), p)), 6) for p in (0, 1, 2, math.inf)]
    [2.0, 7.0, 5.0, 4.0]
    """
    if p != 0 and not p >= 1:
        raise ValueError(f"p_norm got p = {p}; give p = 0 to count non-zeros, or p from 1 to infinity.")
    xp = namespace(x)
    return xp.asarray(xp.linalg.norm(x, ord=p, axis=-1))


def project(z: Rows, eps: float | Lengths, p: float) -> Rows:
    """The point of the ball ‖u‖_p ≤ eps that is nearest to z in the 2-norm, for p = 0, 1, 2, ∞.

    2: z min(1, eps/‖z‖); ∞: clip to ±eps; 1: soft threshold at the level that makes the length eps, found exactly by
    sorting (Duchi and others 2008); 0: the eps largest coordinates are kept. Points inside stay where they are.

    >>> project(np.array([2.0, 0.5]), 1.0, math.inf).tolist(), project(np.array([2.0, 0.5]), 1.0, 1).tolist()
    ([1.0, 0.5], [1.0, 0.0])
    """
    xp = namespace(z)
    eps = xp.asarray(eps, dtype=z.dtype)[..., None]
    if p == math.inf:
        return xp.clip(z, -eps, eps)
    if p == 2:
        length = xp.linalg.norm(z, axis=-1, keepdims=True)
        return z * xp.where(length > eps, eps / xp.where(length > 0, length, 1), 1)
    if p == 1:
        return _onto_cross_polytope(xp, z, eps)
    if p == 0:
        rank = xp.argsort(xp.argsort(-xp.abs(z), axis=-1, stable=True), axis=-1, stable=True)
        return xp.where(rank < eps, z, 0)
    raise ValueError(f"project got p = {p}; it knows the balls of p = 0, 1, 2 and infinity.")


def _onto_cross_polytope(xp: ModuleType, z: Any, eps: Any) -> Any:
    size = xp.abs(z)
    falling = -xp.sort(-size, axis=-1)
    levels = (xp.cumsum(falling, axis=-1) - eps) / xp.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    kept = xp.sum(falling > levels, axis=-1, keepdims=True)  # the largest j with its j-th size above the level of j
    level = xp.take_along_axis(levels, xp.maximum(kept - 1, 0), axis=-1)
    outside = xp.sum(size, axis=-1, keepdims=True) > eps
    return xp.where(outside, xp.sign(z) * xp.maximum(size - level, 0), z)


def rescale(z: Rows, eps: float | Lengths, p: float) -> Rows:
    """eps z/‖z‖_p, which lecture notes print in place of the projection: it moves interior points to the sphere too.

    >>> rescale(np.array([2.0, 0.5]), 1.0, math.inf).tolist(), rescale(np.array([0.1, 0.0]), 1.0, 2).tolist()
    ([1.0, 0.25], [1.0, 0.0])
    """
    xp = namespace(z)
    length = p_norm(z, p)[..., None]
    return xp.asarray(eps, dtype=z.dtype)[..., None] * z / xp.where(length > 0, length, 1)


def steepest_direction(g: Rows, p: float) -> Rows:
    """The u with ‖u‖_p = 1 and the largest g·u, which is ‖g‖_q with 1/p + 1/q = 1; 0 where g = 0.

    ∞: sign(g); 2: g/‖g‖; 1: the sign of the largest coordinate, alone; else u ∝ sign(g) |g|^{q-1}.

    >>> steepest_direction(np.array([3.0, -4.0]), math.inf).tolist()
    [1.0, -1.0]
    """
    xp, q = namespace(g), dual_exponent(p)
    size = xp.abs(g)
    if p == math.inf:
        return xp.sign(g)
    if p == 1:
        first = xp.arange(g.shape[-1]) == xp.argmax(size, axis=-1)[..., None]
        return xp.where(first, xp.sign(g), xp.zeros_like(g))
    largest = xp.max(size, axis=-1, keepdims=True)
    u = xp.sign(g) * (size / xp.where(largest > 0, largest, 1)) ** (q - 1)
    length = xp.linalg.norm(u, ord=p, axis=-1, keepdims=True)
    return u / xp.where(length > 0, length, 1)


@partial(jax.jit, static_argnames=("shape", "p"))
def random_in_ball(key: PRNGKeyArray, shape: tuple[int, ...], eps: float | Lengths, p: float) -> Float[Array, "..."]:
    """Points uniform in the balls ‖u‖_p ≤ eps along the last axis of `shape`, for p ≥ 1.

    The sign-symmetric distribution with density ∝ exp(−|t|^p) in each coordinate has directions uniform in the sense of
    the ball; the length is U^(1/d) (Barthe and others 2005).

    >>> u = random_in_ball(jax.random.key(0), (5, 3), 0.5, 2)
    >>> u.shape, bool((p_norm(u, 2) <= 0.5).all())
    ((5, 3), True)
    """
    if not p >= 1:
        raise ValueError(f"random_in_ball got p = {p}; give p from 1 to infinity.")
    eps = jnp.asarray(eps, float)[..., None]
    if p == math.inf:
        return eps * jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)
    key_direction, key_length = jax.random.split(key)
    if p == 2:
        t = jax.random.normal(key_direction, shape)
    elif p == 1:
        t = jax.random.laplace(key_direction, shape)
    else:
        t = jax.random.generalized_normal(key_direction, p, shape)
    length = jax.random.uniform(key_length, (*shape[:-1], 1)) ** (1 / shape[-1])
    return eps * length * t / jnp.linalg.norm(t, ord=p, axis=-1, keepdims=True)
