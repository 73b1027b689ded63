"""From the signals of two sets of examples to a tile of the tangent kernel, layer by layer.

All matrices of pairs have one row for each example and output; of the trace over outputs, one for each example.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

HIGHEST = lax.Precision.HIGHEST


def by_hadamard(
    a1: Float[Array, "m 1 1 k"],
    d1: Float[Array, "m c 1 1 u"],
    a2: Float[Array, "n 1 1 k"],
    d2: Float[Array, "n c 1 1 u"],
    bias: Any,
    trace: bool,
) -> Float[Array, "rows columns"]:
    """(a aᵀ + b²) ∘ (δ δᵀ): a plain dense layer, whose gradient is δ ⊗ (a, b) with b the scale of its bias, or 0."""
    (m, c), n = d1.shape[:2], d2.shape[0]
    aa = rows_times_rows(a1, a2) + jnp.asarray(bias, a1.dtype) ** 2
    if trace:
        return aa * rows_times_rows(d1, d2)
    dd = rows_times_rows(d1.reshape(m * c, -1), d2.reshape(n * c, -1))
    return (aa[:, None, :, None] * dd.reshape(m, c, n, c)).reshape(m * c, n * c)


def by_position_pairs(
    a1: Float[Array, "m g f k"],
    d1: Float[Array, "m c g f u"],
    a2: Float[Array, "n g f k"],
    d2: Float[Array, "n c g f u"],
    trace: bool,
) -> Float[Array, "rows columns"]:
    """Σ over pairs of positions of (a_f . a'_e)(δ_f . δ'_e): cheap where positions are few and the weight is large."""
    (m, c), n = d1.shape[:2], d2.shape[0]
    aa = jnp.einsum("mgfk,ngek->gmfne", a1, a2, precision=HIGHEST)
    if trace:
        dd = jnp.einsum("mcgfu,ncgeu->gmfne", d1, d2, precision=HIGHEST)
        return jnp.einsum("gmfne,gmfne->mn", aa, dd, precision=HIGHEST)
    dd = jnp.einsum("mcgfu,nbgeu->gmcfnbe", d1, d2, precision=HIGHEST)
    return jnp.sum(aa[:, :, None, :, :, None] * dd, axis=(0, 3, 6)).reshape(m * c, n * c)


def outer_products(
    a: Float[Array, "n g f k"], d: Float[Array, "n c g f u"], start: Any, units: int
) -> Float[Array, "n c columns"]:
    """Σ_f a_f ⊗ δ_f for `units` of the units from `start` on: a slice of the gradient by the weight."""
    part = lax.dynamic_slice_in_dim(d, start, units, axis=4)
    return jnp.einsum("ngfk,ncgfu->ncgku", a, part, precision=HIGHEST).reshape(*d.shape[:2], -1)


def by_jacobians(j1: Float[Array, "m c p"], j2: Float[Array, "n c p"], trace: bool) -> Float[Array, "rows columns"]:
    """J Jᵀ of explicit derivatives."""
    if trace:
        return rows_times_rows(j1, j2)
    return rows_times_rows(j1.reshape(-1, j1.shape[2]), j2.reshape(-1, j2.shape[2]))


def by_products(
    f: Callable[[PyTree, PyTree, Array], Array],
    fixed: PyTree,
    free: PyTree,
    x1: Array,
    x2: Array,
    together: int,
    trace: bool,
) -> Float[Array, "rows columns"]:
    """One column after the other, `together` at a time: a VJP at x2 gives a direction in the parameters `free`, a JVP
    at all of x1 its image. f(free, fixed, x) is of one example, its output a vector."""
    n, size = x2.shape[0], jax.eval_shape(lambda row: f(free, fixed, row), x2[0]).shape[0]

    def column(index: Any) -> Array:
        row, output = x2[index // size], index % size
        (direction,) = jax.vjp(lambda p: f(p, fixed, row), free)[1](
            jax.nn.one_hot(output, size, dtype=jax.eval_shape(lambda: f(free, fixed, row)).dtype)
        )
        image = jax.vmap(lambda one: jax.jvp(lambda p: f(p, fixed, one), (free,), (direction,))[1])(x1)
        return image[:, output] if trace else image

    columns = lax.map(column, jnp.arange(n * size), batch_size=together if together > 1 else None)
    if trace:
        return jnp.sum(columns.reshape(n, size, -1), axis=1).T
    return jnp.transpose(columns, (1, 2, 0)).reshape(-1, n * size)


def rows_times_rows(a: Float[Array, "m ..."], b: Float[Array, "n ..."]) -> Float[Array, "m n"]:
    """a bᵀ over everything but the first axis."""
    return jnp.matmul(a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1).T, precision=HIGHEST)
