"""Random networks without compilation: the structure from Equinox, the numbers from NumPy."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def drawn(
    rng: np.random.Generator, build: Callable, *args: Any, gain: float = 2**0.5, bias_scale: float = 0.3, **options: Any
) -> Any:
    """build(*args, key=..., **options) with weights from N(0, gain²/fan-in) and biases from N(0, bias_scale²)."""
    skeleton = eqx.filter_eval_shape(lambda key: build(*args, key=key, **options), jax.random.key(0))

    def fill(path, leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        scale = bias_scale if path[-1].name == "bias" else gain / np.sqrt(leaf.shape[-1])
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree_util.tree_map_with_path(fill, skeleton)
