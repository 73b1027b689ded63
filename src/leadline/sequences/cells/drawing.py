"""The first weights of cells: a matrix for each gate, all gates in one array."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.networks import initialiser


def drawn(
    init: str, blocks: int, outputs: int, inputs: int, dtype: jax.typing.DTypeLike | None, key: PRNGKeyArray
) -> Float[Array, "rows {inputs}"]:
    """`blocks` matrices (outputs, inputs), each drawn by the initialiser of that name, one below the other."""
    if min(outputs, inputs) < 1:
        raise ValueError(f"A cell got {inputs} inputs and a state of {outputs}; both must be positive.")
    draw, kind = initialiser(init), float_type(dtype)
    return jnp.concatenate([draw(k, (outputs, inputs), kind) for k in jax.random.split(key, blocks)])


def float_type(dtype: jax.typing.DTypeLike | None) -> jax.typing.DTypeLike:
    """The type asked for, or JAX's floating type at the moment."""
    return jnp.result_type(float) if dtype is None else dtype
