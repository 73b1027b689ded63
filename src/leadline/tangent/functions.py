"""A network as a function of its parameters and one input: the form in which all of this room takes it."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline._shapes import output_shape

Function = Callable[[PyTree, Array], Array]


class NetworkFunction(eqx.Module):
    """f(params, x): the network with its floating-point arrays replaced by `params`, at one input x."""

    rest: PyTree

    def __call__(self, params: PyTree, x: Array) -> Array:
        return eqx.combine(params, self.rest)(x)


class OneOfBatch(eqx.Module):
    """f(params, x) for one input x, from a function of batches that treats its rows alike."""

    f: Any

    def __call__(self, params: PyTree, x: Array) -> Array:
        return self.f(params, x[None])[0]


def as_function(network: Callable[[Array], Array]) -> tuple[NetworkFunction, PyTree]:
    """(f, params) with f(params, x) = network(x) for one input x; params are all inexact arrays of any Equinox module.

    >>> from leadline.networks import MLP
    >>> net = MLP((3, 4, 2), key=jax.random.key(0))
    >>> f, params = as_function(net)
    >>> bool((f(params, jnp.ones(3)) == net(jnp.ones(3))).all()), len(jax.tree.leaves(params))
    (True, 4)
    """
    if not callable(network):
        raise ValueError(f"as_function got {type(network).__name__}, which cannot be called; give a network.")
    params, rest = eqx.partition(network, eqx.is_inexact_array)
    if not jax.tree.leaves(params):
        raise ValueError(
            f"as_function found no floating-point arrays in {type(network).__name__}; give an Equinox module with "
            "parameters, or write f(params, x) yourself."
        )
    return NetworkFunction(rest), params


def checked_function(
    f: Function, params: PyTree, x: Any, *, batched: bool = False, what: str = "x1"
) -> tuple[Function, Float[Array, "n ..."], tuple[int, ...]]:
    """f of one input, the inputs as an array, and the shape of one output; refuses what has no tangent kernel."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    if not leaves:
        raise ValueError("The parameters hold no arrays; a tangent kernel needs at least one parameter.")
    for path, leaf in leaves:
        if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
            kind = leaf.dtype if hasattr(leaf, "dtype") else type(leaf).__name__
            raise ValueError(
                f"Parameter {jax.tree_util.keystr(path) or 'params'} is {kind}, not real floating point; convert it, "
                "or close f over it so that it is no parameter."
            )
    x = x if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x))
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError(f"{what} has shape {x.shape}; give a batch of at least one input, examples along axis 0.")
    f = OneOfBatch(f) if batched else f
    try:
        out = output_shape(f, params, jax.ShapeDtypeStruct(x.shape[1:], x.dtype))
    except (TypeError, ValueError) as reason:
        line = str(reason).strip().splitlines()[0] if str(reason).strip() else type(reason).__name__
        raise ValueError(
            f"f(params, x) fails for one example of shape {x.shape[1:]} ({line}); pass a function of one example, or "
            "batched=True for a function of batches."
        ) from reason
    if not hasattr(out, "dtype") or not jnp.issubdtype(out.dtype, jnp.floating):
        raise ValueError("f(params, x) must return one real floating-point array; select the output to differentiate.")
    return f, x, tuple(out.shape)


def outputs_at(f: Function, params: PyTree, x: Float[Array, "n ..."]) -> Float[Array, "n c"]:
    """f for every row of x, outputs flattened: (n, C)."""
    return jax.vmap(lambda row: jnp.ravel(f(params, row)))(x)
