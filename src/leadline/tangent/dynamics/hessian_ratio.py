"""How nearly linear a function is in its parameters: the norm of its Hessian against its squared gradient."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from leadline._network import Apply, ExampleFunction

from ..functions import checked_function


class HessianRatio(NamedTuple):
    """‖Hess f‖₂, ‖∇f‖² and their quotient for each input, and the unit direction (as from `ravel_pytree`) in which the
    function bends most."""

    hessian_norm: Float[Array, " n"]
    squared_gradient: Float[Array, " n"]
    ratio: Float[Array, " n"]
    direction: Float[Array, "n p"]


def hessian_gradient_ratio(
    apply: Apply, params: PyTree, x: Any, *, output: int = 0, iterations: int = 30
) -> HessianRatio:
    """‖∂²f(x)/∂θ²‖₂/‖∂f(x)/∂θ‖² of one output at every row of x, by Lanczos on Hessian-vector products.

    Over a change of the output by O(1) the gradient turns by about this much; small means that the function is nearly
    its linearisation. O(m^(-1/2)) in the width for networks in the NTK parametrisation (Liu, Zhu and Belkin 2020).

    >>> found = hessian_gradient_ratio(lambda w, x: x * (w[0] ** 2 - 3 * w[1] ** 2), jnp.array([1.0, 0.0]), jnp.ones(1))
    >>> [round(float(value[0]), 3) for value in found[:3]]
    [6.0, 4.0, 1.5]
    """
    g, x, shape = checked_function(apply, params, x)
    size = math.prod(shape)
    if not -size <= output < size:
        raise ValueError(f"hessian_gradient_ratio got output {output}, but the network has {size}; count from 0.")
    return _ratio(g, params, x, output % size, iterations)


@eqx.filter_jit
def _ratio(f: ExampleFunction, params: PyTree, x: Array, output: int, iterations: int) -> HessianRatio:
    flat, back = ravel_pytree(params)

    def at(row: Array) -> tuple[Array, Array, Array]:
        gradient, times_hessian = jax.linearize(jax.grad(lambda w: jnp.ravel(f(back(w), row))[output]), flat)
        value, vector = extreme_eigenpair(times_hessian, flat.size, flat.dtype, iterations)
        return jnp.abs(value), jnp.sum(gradient**2), vector

    norm, squared, direction = jax.lax.map(at, x)
    return HessianRatio(norm, squared, norm / squared, direction)


def extreme_eigenpair(
    times: Callable[[Array], Array], size: int, dtype: Any, iterations: int = 30
) -> tuple[Float[Array, ""], Float[Array, " size"]]:
    """The eigenvalue of largest modulus of a symmetric operator given by its products, and its unit eigenvector.

    Lanczos with full reorthogonalisation; exact after `size` iterations.

    >>> A = jnp.diag(jnp.array([1.0, -7.0, 3.0, 2.0]))
    >>> value, vector = extreme_eigenpair(lambda v: A @ v, 4, A.dtype)
    >>> round(float(value), 3), abs(vector).round(3).tolist()
    (-7.0, [0.0, 1.0, 0.0, 0.0])
    """
    steps = min(iterations, size)
    start = jnp.cos(jnp.arange(size, dtype=dtype) ** 2)  # any vector without pattern
    basis = jnp.zeros((steps, size), dtype).at[0].set(start / jnp.linalg.norm(start))

    def step(k: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        basis, T, largest = state
        image = times(basis[k])
        along = basis @ image
        T = T.at[k, :].set(along).at[:, k].set(along)
        largest = jnp.maximum(largest, jnp.linalg.norm(along))
        rest = image - along @ basis
        rest = rest - (basis @ rest) @ basis  # once more: the first time leaves rounding errors in the span
        length = jnp.linalg.norm(rest)
        ended = length <= 50 * jnp.finfo(dtype).eps * largest  # an invariant subspace: nothing new to find
        new = jnp.where(ended, 0.0, rest / jnp.where(ended, 1.0, length))
        return basis.at[k + 1].set(new, mode="drop"), T, largest

    basis, T, _ = jax.lax.fori_loop(0, steps, step, (basis, jnp.zeros((steps, steps), dtype), jnp.zeros((), dtype)))
    values, vectors = jnp.linalg.eigh(T)
    best = jnp.argmax(jnp.abs(values))
    return values[best], vectors[:, best] @ basis
