"""Tangent-kernel-vector products without the matrix: one VJP, then one JVP; memory O(P)."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers
from leadline.frameworks.network import Apply

from .functions import checked_function, outputs_at


@eqx.filter_jit
def _product(apply: Apply, params: PyTree, x1: Array, x2: Array, v: Array) -> Array:
    start, pullback = jax.vjp(lambda p: outputs_at(apply, p, x2), params)

    def one(column: Array) -> Array:
        (direction,) = pullback(column.reshape(start.shape))
        return jax.jvp(lambda p: outputs_at(apply, p, x1), (params,), (direction,))[1].ravel()

    return one(v) if v.ndim == 1 else jax.vmap(one, in_axes=1, out_axes=1)(v)


def ntk_product(
    apply: Apply, params: PyTree, x1: Any, x2: Any, v: Float[Array | np.ndarray, "columns ..."]
) -> Float[Array, "rows ..."]:
    """K(x1, x2) v = J(x1) (J(x2)ᵀ v) for a vector or the columns of a matrix; x2 = None stands for x1.

    >>> x, w = jnp.array([[1.0, 0.0], [1.0, 1.0]]), jnp.ones(2)
    >>> ntk_product(lambda w, x: x @ w, w, x, None, jnp.array([1.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    require_numbers("ntk_product", v=v)
    _, x1, out = checked_function(apply, params, x1)
    if x2 is None:
        x2 = x1
    else:
        _, x2, _ = checked_function(apply, params, x2, what="x2")
    v = jnp.asarray(v)
    columns = x2.shape[0] * math.prod(out)
    if v.ndim not in (1, 2) or v.shape[0] != columns:
        raise ValueError(
            f"v has shape {v.shape}; the kernel has {columns} columns, so give ({columns},) or ({columns}, k)."
        )
    return _product(apply, params, x1, x2, v)
