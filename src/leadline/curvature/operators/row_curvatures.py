"""The curvature of every row's loss along one direction."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from .operator import split_parameters


def curvatures_by_row(
    loss: Callable[..., Any], params: PyTree, direction: Float[np.ndarray | Array, " p"], *data: PyTree
) -> Float[np.ndarray, " n"]:
    """vᵀ∇²ℓᵢ v for each row i, from one pass forwards over forwards: their mean is vᵀH v, their scatter its error.

    `direction` v is flat, in the order of the floating-point arrays of `params`; `loss` gives one loss per row.

    >>> loss = lambda w, x: 0.5 * (x @ w) ** 2
    >>> curvatures_by_row(loss, jnp.ones(2), np.array([1.0, 0.0]), jnp.array([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [4.0, 0.0]
    """
    moved, fixed = split_parameters(params)
    flat, unravel = ravel_pytree(moved)
    if np.shape(direction) != flat.shape:
        raise ValueError(f"The direction has shape {np.shape(direction)}; give a flat one of length {flat.size}.")
    held = jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, data)
    found = _curvatures(CanonicalConvolutions(loss), moved, fixed, unravel(jnp.asarray(direction, flat.dtype)), held)
    return np.asarray(found)


@eqx.filter_jit
def _curvatures(loss: Any, moved: PyTree, fixed: PyTree, v: PyTree, data: tuple) -> Array:
    def along(p: PyTree) -> Array:
        return jax.jvp(lambda q: loss(eqx.combine(q, fixed), *data), (p,), (v,))[1]

    return jax.jvp(along, (moved,), (v,))[1]
