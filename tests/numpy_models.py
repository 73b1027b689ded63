"""Models with numbers drawn by NumPy: the tests need many shapes, and JAX would compile a draw for each of them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def numpy_model(build: Any, *args: Any, seed: int = 0, scale: float = 1.0, **options: Any) -> Any:
    """build(*args, key=..., **options) with every array drawn from N(0, scale²)."""
    rng = np.random.default_rng(seed)
    skeleton = eqx.filter_eval_shape(lambda key: build(*args, key=key, **options), jax.random.key(0))

    def draw(leaf):
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(lambda leaf: draw(leaf) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, skeleton)
