"""Hölder's inequality: the dual of an lp norm, and the vector that attains it."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def dual_exponent(p: float) -> float:
    """The p* with 1/p + 1/p* = 1, for p in [1, ∞].

    >>> dual_exponent(4.0), dual_exponent(1.0), dual_exponent(float("inf"))
    (1.3333333333333333, inf, 1.0)
    """
    if not p >= 1:
        raise ValueError(f"dual_exponent got p = {p}; an lp norm needs 1 <= p <= inf.")
    if math.isinf(p):
        return 1.0
    return math.inf if p == 1 else p / (p - 1)


def dual_maximiser(v: Float[Array | np.ndarray, "... d"], p: float) -> Float[Array, "... d"]:
    """The u with ‖u‖_{p*} = 1 and u·v = ‖v‖_p: u ∝ sgn(v) |v|^{p-1}, along the last axis.

    For p = 1 it is the sign vector, the step of sign-gradient attacks; for p = ∞ one coordinate, the largest of |v|
    (the first of equal ones). 0 for v = 0.

    >>> v = jnp.array([3.0, -4.0])
    >>> [round(float(u), 3) for u in dual_maximiser(v, 2.0)], dual_maximiser(v, 1.0).tolist()
    ([0.6, -0.8], [1.0, -1.0])
    """
    star = dual_exponent(p)
    v = jnp.asarray(v)
    size = jnp.abs(v)
    largest = size.max(axis=-1, keepdims=True)
    if math.isinf(p):
        first = jnp.arange(v.shape[-1]) == jnp.argmax(size, axis=-1, keepdims=True)
        return jnp.where(first, jnp.sign(v), jnp.zeros_like(v))
    u = jnp.sign(v) * (size / jnp.where(largest > 0, largest, 1)) ** (p - 1)
    if math.isinf(star):
        return u
    length = jnp.linalg.norm(u, ord=star, axis=-1, keepdims=True)
    return u / jnp.where(length > 0, length, 1)
