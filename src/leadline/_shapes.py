"""Shape and type of what a function of arrays returns, found by tracing it once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree


def output_shape(function: Callable, *arguments: PyTree) -> Any:
    """What function(*arguments) would give, as `jax.ShapeDtypeStruct`s; remembered for every function and shape.

    >>> output_shape(lambda x: x @ x.T, jax.ShapeDtypeStruct((3, 2), "float32")).shape
    (3, 3)
    """
    arrays, rest = eqx.partition(function, lambda leaf: isinstance(leaf, jax.Array | np.ndarray))
    leaves, structure = jax.tree.flatten(rest)
    return _called.eval_shape((structure, *leaves), arrays, arguments)


@partial(jax.jit, static_argnums=0)
def _called(rest: tuple, arrays: PyTree, arguments: tuple) -> Any:
    structure, *leaves = rest
    return eqx.combine(arrays, jax.tree.unflatten(structure, leaves))(*arguments)
