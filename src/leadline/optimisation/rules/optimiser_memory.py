"""What an optimiser keeps in memory besides the weights: counted from the shapes of its state."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import PyTree


class OptimiserMemory(NamedTuple):
    """Bytes of weights, of optimiser state in arrays as large as the weights, and of what else the state holds."""

    weights: int
    moments: int
    counters: int

    @property
    def per_parameter(self) -> float:
        """Numbers kept for each parameter, its own value included; one gradient comes on top for every rule."""
        return 1 + self.moments / self.weights


def optimiser_memory_of(rule: optax.GradientTransformation, parameters: PyTree) -> OptimiserMemory:
    """Bytes that training `parameters` with `rule` holds; nothing is computed or allocated.

    The parameters are arrays or, for a model too large to make, their shapes (from `jax.eval_shape`).

    >>> import jax.numpy as jnp
    >>> optimiser_memory_of(optax.adam(0.1), jnp.zeros(10)).per_parameter
    3.0
    """
    trained = eqx.filter(parameters, _is_trained)
    weights = jax.tree.leaves(trained)
    if not weights:
        raise ValueError("There is no array of floating-point numbers among the parameters; give a model with weights.")
    state = jax.tree.leaves(jax.eval_shape(rule.init, trained))
    shapes = {w.shape for w in weights}
    scalars = {()} if () not in shapes else set()
    large = [s for s in state if s.shape in shapes and s.shape not in scalars and np.issubdtype(s.dtype, np.inexact)]
    moments = sum(map(_bytes, large))
    return OptimiserMemory(sum(map(_bytes, weights)), moments, sum(map(_bytes, state)) - moments)


def _is_trained(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) or (
        isinstance(leaf, jax.ShapeDtypeStruct) and jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)
    )


def _bytes(array: jax.ShapeDtypeStruct | jax.Array) -> int:
    return int(np.prod(array.shape, dtype=int)) * array.dtype.itemsize
